/* Runs the model on numbers from a fixed generator and prints a checksum of what comes out.
 *
 *     model [--hex] [--repeat N]
 *
 * `--hex` prints the outputs, too, row by row and channel by channel; `--repeat` runs N times. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "model.h"

/* Numerical Recipes' linear congruential generator; the high byte of each state is a value. */
static int8_t next_value(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (int8_t)((int32_t)(*state >> 24) - 128);
}

static void fill_inputs(void)
{
    uint32_t state = 1;
    for (int32_t input = 0; input < MODEL_INPUTS; input++)
        for (int32_t i = 0; i < model_input_bytes(input); i++)
            model_write(input, i, next_value(&state));
}

/* FNV-1a, 32 bits, of all output bytes. */
static uint32_t checksum(void)
{
    uint32_t hash = 2166136261u;
    for (int32_t output = 0; output < MODEL_OUTPUTS; output++)
        for (int32_t i = 0; i < model_output_bytes(output); i++)
            hash = (hash ^ (uint8_t)model_read(output, i)) * 16777619u;
    return hash;
}

static void print_outputs(void)
{
    for (int32_t output = 0; output < MODEL_OUTPUTS; output++) {
        for (int32_t i = 0; i < model_output_bytes(output); i++)
            printf("%02x", (unsigned)(uint8_t)model_read(output, i));
        printf("\n");
    }
}

/* A whole number, or -1 for anything else. */
static int32_t number(const char *text)
{
    int32_t value = 0;
    if (*text == '\0')
        return -1;
    for (; *text != '\0'; text++) {
        if (*text < '0' || *text > '9' || value > 100000)
            return -1;
        value = value * 10 + (*text - '0');
    }
    return value;
}

int main(int argc, char **argv)
{
    int32_t hex = 0, repeat = 1;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--hex") == 0) {
            hex = 1;
        } else if (strcmp(argv[i], "--repeat") == 0 && i + 1 < argc) {
            repeat = number(argv[++i]);
        } else {
            repeat = -1;
        }
    }
    if (repeat < 1) {
        fprintf(stderr, "usage: %s [--hex] [--repeat N]\n", argv[0]);
        return 2;
    }
    for (int32_t i = 0; i < repeat; i++) {
        fill_inputs();
        model_run();
    }
    printf("checksum %08x\n", (unsigned)checksum());
    if (hex)
        print_outputs();
    return 0;
}

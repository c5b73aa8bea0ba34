/* Kernels over one circular pool of int8 values, in exact integer arithmetic.
 *
 * A tensor lies in the pool pixel by pixel, the channels of a pixel together, at addresses taken
 * modulo POOL_BYTES: it may wrap anywhere, even inside a pixel. Each kernel makes one pixel of its
 * output, channel after channel, and writes each channel before it reads what the next one needs:
 * that order is what the addresses were planned for.
 *
 * With x an input value, sums become int8 values as
 *     clamp(((sum * multiplier + 2^(shift - 1)) >> shift) + zero), then perhaps a table.
 */
#ifndef KERNELS_H
#define KERNELS_H

#include <stdint.h>

/* Where a tensor lies. Pixel q, counted in raster order, is in place q % pixels; or, where
 * `columns` is not 0, the pixel under row r of a window in place r * columns + column % columns. */
typedef struct {
    int32_t at;       /* address of the first place */
    int32_t height;   /* of the whole tensor, in pixels */
    int32_t width;
    int32_t channels; /* of a pixel, or those of a tile */
    int32_t bytes;    /* from one place to the next: what is more than the channels is padding */
    int32_t pixels;   /* places: all pixels of the tensor, or those that a buffer keeps */
    int32_t columns;
} place;

/* How an input is read: its zero, and which of its channels stands for channel c (or NULL). */
typedef struct {
    int32_t zero;
    const int16_t *channels;
} operand;

/* How a sum becomes an int8 value. `table`, where it is not NULL, has 256 entries. */
typedef struct {
    int32_t shift;
    int32_t zero;
    int32_t low;
    int32_t high;
    const int8_t *table;
} result;

typedef struct {
    int32_t height, width;
    int32_t stride_y, stride_x;
    int32_t padding_y, padding_x;
    int32_t dilation_y, dilation_x;
} window;

/* A convolution of `outputs` channels, each over `depth` input channels of one group;
 * weights [outputs][window height][window width][depth]. A linear operator is one of 1x1. */
typedef struct {
    window window;
    int32_t groups;
    int32_t outputs;
    int32_t depth;
    operand in;
    result out;
    const int8_t *weight;
    const int32_t *bias;
    const int32_t *multiplier;
} conv;

/* A pool over windows. Averages of n values use multiplier[n - fewest]. */
typedef struct {
    window window;
    int32_t channels;
    int32_t count_padding; /* averages count the padding too */
    int32_t fewest;
    operand in;
    result out;
    const int32_t *multiplier;
} pool;

/* Two inputs, value by value. `broadcast` input (0 or 1) is one pixel for all; -1: neither is. */
typedef struct {
    int32_t channels;
    int32_t broadcast;
    operand in[2];
    result out;
    int32_t multiplier[2];
} binary;

/* One input among those that are laid side by side, from `first` channel of the output on. */
typedef struct {
    int32_t channels;
    int32_t first;
    operand in;
    result out;
    int32_t multiplier;
} copy;

/* Value `index` (row, column, channel) of a whole tensor, written and read. */
void place_write(const place *tensor, int32_t index, int8_t value);
int8_t place_read(const place *tensor, int32_t index);

/* The last input pixel under the window of output pixel q, or less than 0 if there is none. */
int32_t last_under(const window *look, const place *in, const place *out, int32_t q);

/* Output pixel q of one operator. */
void conv_pixel(const conv *op, const place *in, const place *out, int32_t q);
void depthwise_pixel(const conv *op, const place *in, const place *out, int32_t q);
void pointwise_pixel(const conv *op, const place *in, const place *out, int32_t q);
void max_pool_pixel(const pool *op, const place *in, const place *out, int32_t q);
void average_pixel(const pool *op, const place *in, const place *out, int32_t q);
void add_pixel(const binary *op, const place *a, const place *b, const place *out, int32_t q);
void mul_pixel(const binary *op, const place *a, const place *b, const place *out, int32_t q);
void cat_pixel(const copy *op, const place *in, const place *out, int32_t q);
void table_pixel(const copy *op, const place *in, const place *out, int32_t q);

/* Channels first ... first + count - 1 of the expanded pixels under the window of output pixel q.
 * With `keep`, those columns that the window of pixel q - 1 of the same row had are left as is. */
void expand_window(const conv *op, const place *in, const place *expanded, const window *look,
                   const place *out, int32_t q, int32_t first, int32_t count, int32_t keep);

/* Channels first ... first + count - 1 of depthwise pixel q. `whole`: places of `in` hold all
 * channels; else they hold these only, as those of `out` do. */
void depthwise_tile(const conv *op, const place *in, const place *out, int32_t q, int32_t first,
                    int32_t count, int32_t whole);

/* Partial sums, int32 and little-endian in the pool, of a 1x1 convolution: begun with the bias,
 * added to from a tile of input channels, and made values of output pixel q. */
void sums_begin(const conv *op, const place *sums);
void sums_add(const conv *op, const place *tile, const place *sums, int32_t first, int32_t count);
void sums_end(const conv *op, const place *sums, const place *out, int32_t q);

#endif

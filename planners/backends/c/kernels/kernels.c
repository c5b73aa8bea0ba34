#include "kernels.h"

#include <stddef.h>

#include "model.h"

/* The only memory there is, but for the stack. */
static int8_t bytes[POOL_BYTES];

/* Sums are halved with the sign kept; a compiler that does otherwise stops here. */
typedef char shifts_keep_the_sign[(-3 >> 1) == -2 ? 1 : -1];

/* ---- addresses ---- */

/* An address below 2 * POOL_BYTES, modulo POOL_BYTES. */
static inline int32_t wrap(int32_t at)
{
    return at < POOL_BYTES ? at : at - POOL_BYTES;
}

/* The address of the first byte of pixel q. */
static int32_t pixel_at(const place *t, int32_t q)
{
    const int32_t kept = q < t->pixels ? q : q % t->pixels;
    return wrap(t->at + kept * t->bytes);
}

/* The same for a pixel that is under row r of a window. */
static int32_t window_at(const place *t, int32_t row, int32_t column, int32_t r)
{
    if (t->columns == 0)
        return pixel_at(t, row * t->width + column);
    return pixel_at(t, r * t->columns + column % t->columns);
}

static inline int32_t read_at(int32_t at, int32_t offset)
{
    return bytes[wrap(at + offset)];
}

static inline void write_at(int32_t at, int32_t offset, int8_t value)
{
    bytes[wrap(at + offset)] = value;
}

static inline int32_t channel_of(const operand *in, int32_t c)
{
    return in->channels == NULL ? c : in->channels[c];
}

void place_write(const place *tensor, int32_t index, int8_t value)
{
    const int32_t pixel = index / tensor->channels;
    write_at(pixel_at(tensor, pixel), index - pixel * tensor->channels, value);
}

int8_t place_read(const place *tensor, int32_t index)
{
    const int32_t pixel = index / tensor->channels;
    return (int8_t)read_at(pixel_at(tensor, pixel), index - pixel * tensor->channels);
}

/* ---- arithmetic ---- */

/* A value of the output, clamped and mapped. */
static int8_t settle(const result *out, int64_t value)
{
    if (value < out->low)
        value = out->low;
    if (value > out->high)
        value = out->high;
    return out->table == NULL ? (int8_t)value : out->table[value + 128];
}

/* The same of a sum: sum * multiplier / 2^shift, rounded to the nearest, halves up. */
static int8_t finish(const result *out, int64_t sum, int32_t multiplier)
{
    const int64_t half = (int64_t)1 << (out->shift - 1);
    return settle(out, ((sum * multiplier + half) >> out->shift) + out->zero);
}

static int32_t dot_straight(const int8_t *weight, const int8_t *x, int32_t count, int32_t zero)
{
    int32_t sum = 0;
    for (int32_t i = 0; i < count; i++)
        sum += (x[i] - zero) * weight[i];
    return sum;
}

/* The sum of (x - zero) * weight over `count` bytes of the pool: straight on, or in two parts
 * where they wrap. */
static int32_t dot(const int8_t *weight, int32_t at, int32_t count, int32_t zero)
{
    const int32_t before = POOL_BYTES - at;
    if (count <= before)
        return dot_straight(weight, bytes + at, count, zero);
    return dot_straight(weight, bytes + at, before, zero) +
           dot_straight(weight + before, bytes, count - before, zero);
}

/* The same for channels that are not side by side. */
static int32_t dot_chosen(const int8_t *weight, int32_t at, const int16_t *channels, int32_t count,
                          int32_t zero)
{
    int32_t sum = 0;
    for (int32_t i = 0; i < count; i++)
        sum += (read_at(at, channels[i]) - zero) * weight[i];
    return sum;
}

/* ---- windows ---- */

/* Rows (or columns) of an input under a window: those in [start, stop) in steps. */
typedef struct {
    int32_t start, stop;
} span;

/* Where the window of output row (or column) i starts and stops, padding included. */
static span span_of(int32_t i, int32_t size, int32_t stride, int32_t padding, int32_t dilation)
{
    const int32_t start = i * stride - padding;
    const span found = {start, start + (size - 1) * dilation + 1};
    return found;
}

static span rows_under(const window *look, const place *out, int32_t q)
{
    return span_of(q / out->width, look->height, look->stride_y, look->padding_y,
                   look->dilation_y);
}

static span columns_under(const window *look, const place *out, int32_t q)
{
    return span_of(q % out->width, look->width, look->stride_x, look->padding_x,
                   look->dilation_x);
}

/* The last of them that is inside of an input of `size`, or less than 0. */
static int32_t last_of(span under, int32_t dilation, int32_t size)
{
    int32_t last = under.stop - 1;
    while (last >= size)
        last -= dilation;
    return last < under.start ? -1 : last;
}

int32_t last_under(const window *look, const place *in, const place *out, int32_t q)
{
    const span rows = rows_under(look, out, q), columns = columns_under(look, out, q);
    const int32_t row = last_of(rows, look->dilation_y, in->height);
    const int32_t column = last_of(columns, look->dilation_x, in->width);
    return row < 0 || column < 0 ? -1 : row * in->width + column;
}

/* The pixels of an input under a window: their addresses, and which weight each one meets. */
typedef struct {
    int32_t count;
    int32_t at[WINDOW_PIXELS];
    int16_t tap[WINDOW_PIXELS];
} taps;

static void find_taps(taps *found, const window *look, const place *in, const place *out,
                      int32_t q)
{
    const span rows = rows_under(look, out, q), columns = columns_under(look, out, q);
    found->count = 0;
    for (int32_t r = 0; r < look->height; r++) {
        const int32_t row = rows.start + r * look->dilation_y;
        if (row < 0 || row >= in->height)
            continue;
        for (int32_t s = 0; s < look->width; s++) {
            const int32_t column = columns.start + s * look->dilation_x;
            if (column < 0 || column >= in->width)
                continue;
            found->at[found->count] = window_at(in, row, column, r);
            found->tap[found->count++] = (int16_t)(r * look->width + s);
        }
    }
}

/* ---- convolutions ---- */

/* The sum of output channel k over a window. */
static int32_t conv_sum(const conv *op, const taps *under, int32_t k)
{
    const int32_t first = k / (op->outputs / op->groups) * op->depth;
    const int8_t *weight = op->weight + k * op->window.height * op->window.width * op->depth;
    int32_t sum = op->bias[k];
    for (int32_t i = 0; i < under->count; i++) {
        const int8_t *met = weight + under->tap[i] * op->depth;
        if (op->in.channels == NULL)
            sum += dot(met, wrap(under->at[i] + first), op->depth, op->in.zero);
        else
            sum += dot_chosen(met, under->at[i], op->in.channels + first, op->depth, op->in.zero);
    }
    return sum;
}

/* Channels first ... first + count - 1 of pixel q of `out`, to the address `to`. */
static void conv_tile(const conv *op, const place *in, const place *out, int32_t q, int32_t to,
                      int32_t first, int32_t count)
{
    taps under;
    find_taps(&under, &op->window, in, out, q);
    for (int32_t k = first; k < first + count; k++)
        write_at(to, k - first, finish(&op->out, conv_sum(op, &under, k), op->multiplier[k]));
}

void conv_pixel(const conv *op, const place *in, const place *out, int32_t q)
{
    conv_tile(op, in, out, q, pixel_at(out, q), 0, op->outputs);
}

void depthwise_tile(const conv *op, const place *in, const place *out, int32_t q, int32_t first,
                    int32_t count, int32_t whole)
{
    const int32_t to = pixel_at(out, q);
    const int32_t area = op->window.height * op->window.width;
    taps under;
    find_taps(&under, &op->window, in, out, q);
    for (int32_t k = first; k < first + count; k++) {
        const int32_t channel = whole ? channel_of(&op->in, k) : k - first;
        const int8_t *weight = op->weight + k * area;
        int32_t sum = op->bias[k];
        for (int32_t i = 0; i < under.count; i++)
            sum += (read_at(under.at[i], channel) - op->in.zero) * weight[under.tap[i]];
        write_at(to, k - first, finish(&op->out, sum, op->multiplier[k]));
    }
}

void depthwise_pixel(const conv *op, const place *in, const place *out, int32_t q)
{
    depthwise_tile(op, in, out, q, 0, op->outputs, 1);
}

void pointwise_pixel(const conv *op, const place *in, const place *out, int32_t q)
{
    const int32_t from = pixel_at(in, q), to = pixel_at(out, q);
    for (int32_t k = 0; k < op->outputs; k++) {
        const int32_t sum = dot(op->weight + k * op->depth, from, op->depth, op->in.zero);
        write_at(to, k, finish(&op->out, op->bias[k] + sum, op->multiplier[k]));
    }
}

void expand_window(const conv *op, const place *in, const place *expanded, const window *look,
                   const place *out, int32_t q, int32_t first, int32_t count, int32_t keep)
{
    const span rows = rows_under(look, out, q), columns = columns_under(look, out, q);
    const int32_t kept = look->width - look->stride_x; /* columns that the last window had, too */
    const int32_t s = keep && kept > 0 && q % out->width > 0 ? kept : 0;
    for (int32_t row = rows.start; row < rows.stop; row++) {
        if (row < 0 || row >= expanded->height)
            continue;
        for (int32_t column = columns.start + s; column < columns.stop; column++) {
            if (column < 0 || column >= expanded->width)
                continue;
            conv_tile(op, in, expanded, row * expanded->width + column,
                      window_at(expanded, row, column, row - rows.start), first, count);
        }
    }
}

/* ---- partial sums ---- */

static int32_t sum_read(const place *sums, int32_t k)
{
    uint32_t value = 0;
    for (int32_t i = 0; i < 4; i++)
        value |= (uint32_t)(uint8_t)read_at(sums->at, 4 * k + i) << (8 * i);
    return (int32_t)value;
}

static void sum_write(const place *sums, int32_t k, int32_t value)
{
    for (int32_t i = 0; i < 4; i++)
        write_at(sums->at, 4 * k + i, (int8_t)(((uint32_t)value >> (8 * i)) & 255u));
}

void sums_begin(const conv *op, const place *sums)
{
    for (int32_t k = 0; k < op->outputs; k++)
        sum_write(sums, k, op->bias[k]);
}

void sums_add(const conv *op, const place *tile, const place *sums, int32_t first, int32_t count)
{
    for (int32_t k = 0; k < op->outputs; k++) {
        const int8_t *weight = op->weight + k * op->depth + first;
        sum_write(sums, k, sum_read(sums, k) + dot(weight, tile->at, count, op->in.zero));
    }
}

void sums_end(const conv *op, const place *sums, const place *out, int32_t q)
{
    const int32_t to = pixel_at(out, q);
    for (int32_t k = 0; k < op->outputs; k++)
        write_at(to, k, finish(&op->out, sum_read(sums, k), op->multiplier[k]));
}

/* ---- pools ---- */

/* Of a window's rows (or columns), those inside of an input of `size`. */
static span inside(span under, int32_t dilation, int32_t size)
{
    while (under.start < 0)
        under.start += dilation;
    if (under.stop > size)
        under.stop = size;
    return under;
}

void max_pool_pixel(const pool *op, const place *in, const place *out, int32_t q)
{
    const window *look = &op->window;
    const span rows = inside(rows_under(look, out, q), look->dilation_y, in->height);
    const span columns = inside(columns_under(look, out, q), look->dilation_x, in->width);
    const int32_t to = pixel_at(out, q);
    for (int32_t c = 0; c < op->channels; c++) {
        const int32_t channel = channel_of(&op->in, c);
        int32_t most = -128;
        for (int32_t row = rows.start; row < rows.stop; row += look->dilation_y) {
            for (int32_t column = columns.start; column < columns.stop;
                 column += look->dilation_x) {
                const int32_t x = read_at(pixel_at(in, row * in->width + column), channel);
                most = x > most ? x : most;
            }
        }
        write_at(to, c, settle(&op->out, most));
    }
}

/* Rows (or columns) of one side that an average counts: with the padding before and after. */
static int32_t counted(span under, int32_t padding, int32_t size)
{
    const int32_t start = under.start < -padding ? -padding : under.start;
    const int32_t stop = under.stop > size + padding ? size + padding : under.stop;
    return stop - start;
}

void average_pixel(const pool *op, const place *in, const place *out, int32_t q)
{
    const window *look = &op->window;
    const span all_rows = rows_under(look, out, q), all_columns = columns_under(look, out, q);
    const span rows = inside(all_rows, 1, in->height);
    const span columns = inside(all_columns, 1, in->width);
    const int32_t padding_y = op->count_padding ? look->padding_y : 0;
    const int32_t padding_x = op->count_padding ? look->padding_x : 0;
    const int32_t count = counted(all_rows, padding_y, in->height) *
                          counted(all_columns, padding_x, in->width);
    const int32_t to = pixel_at(out, q);
    for (int32_t c = 0; c < op->channels; c++) {
        const int32_t channel = channel_of(&op->in, c);
        int32_t sum = 0;
        for (int32_t row = rows.start; row < rows.stop; row++)
            for (int32_t column = columns.start; column < columns.stop; column++)
                sum += read_at(pixel_at(in, row * in->width + column), channel) - op->in.zero;
        write_at(to, c, finish(&op->out, sum, op->multiplier[count - op->fewest]));
    }
}

/* ---- value by value ---- */

void add_pixel(const binary *op, const place *a, const place *b, const place *out, int32_t q)
{
    const int32_t from_a = pixel_at(a, q), from_b = pixel_at(b, q), to = pixel_at(out, q);
    for (int32_t c = 0; c < op->channels; c++) {
        const int64_t x = read_at(from_a, channel_of(&op->in[0], c)) - op->in[0].zero;
        const int64_t y = read_at(from_b, channel_of(&op->in[1], c)) - op->in[1].zero;
        const int64_t sum = x * op->multiplier[0] + y * op->multiplier[1];
        write_at(to, c, finish(&op->out, sum, 1));
    }
}

void mul_pixel(const binary *op, const place *a, const place *b, const place *out, int32_t q)
{
    const int32_t from_a = pixel_at(a, op->broadcast == 0 ? 0 : q);
    const int32_t from_b = pixel_at(b, op->broadcast == 1 ? 0 : q);
    const int32_t to = pixel_at(out, q);
    for (int32_t c = 0; c < op->channels; c++) {
        const int32_t x = read_at(from_a, channel_of(&op->in[0], c)) - op->in[0].zero;
        const int32_t y = read_at(from_b, channel_of(&op->in[1], c)) - op->in[1].zero;
        write_at(to, c, finish(&op->out, x * y, op->multiplier[0]));
    }
}

void cat_pixel(const copy *op, const place *in, const place *out, int32_t q)
{
    const int32_t from = pixel_at(in, q), to = pixel_at(out, q);
    for (int32_t c = 0; c < op->channels; c++) {
        const int32_t x = read_at(from, channel_of(&op->in, c)) - op->in.zero;
        write_at(to, op->first + c, finish(&op->out, x, op->multiplier));
    }
}

void table_pixel(const copy *op, const place *in, const place *out, int32_t q)
{
    const int32_t from = pixel_at(in, q), to = pixel_at(out, q);
    for (int32_t c = 0; c < op->channels; c++)
        write_at(to, c, settle(&op->out, read_at(from, channel_of(&op->in, c))));
}

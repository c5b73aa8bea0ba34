// What follows the cursor, in the explorer and in a page without a server.

// The bands over the figures and the ring around a node; `view` has the models by their names.
function moveBands(view, step) {
  const edges = view.edges.data.at, timed = step + 1 < edges.length;
  const [left, right] = timed ? [edges[step], edges[step + 1]] : [step, step + 1];
  for (const band of [view.map_band, view.held_band]) band.setv({ left, right });
  const { start, stop } = view.times ? view.times.data : { start: [] };
  if (step < start.length) view.time_band.setv({ left: start[step], right: stop[step] });
  const { x, y, w, h } = view.where ? view.where.data : { x: [] };  // the graph may come later
  if (step < x.length)
    view.ring.setv({ left: x[step] - w[step] / 2, right: x[step] + w[step] / 2,
      top: y[step] - h[step] / 2, bottom: y[step] + h[step] / 2 });
}

// The step at a place across the address map, whose axis is of steps or of times.
function stepAt(view, x) {
  const edges = view.edges.data.at;
  return edges.length ? edges.findLastIndex((at) => at <= x) : Math.floor(x);
}

// Taps on what is over steps, or over times, move the cursor there.
function listenToPlaces(view, goTo) {
  for (const plot of [view.map_plot, view.held_plot])
    plot.on_event('tap', (event) => goTo(stepAt(view, event.x)));
}

// Bring the ring's node into sight.
function bringIntoSight({ where, dag_range }, step) {
  if (!where || !(step < where.data.x.length)) return;
  const x = where.data.x[step], width = dag_range.end - dag_range.start;
  if (x >= dag_range.start + 0.3 && x <= dag_range.end - 0.3) return;
  const low = Math.max(dag_range.reset_start,
    Math.min(x - width / 2, dag_range.reset_end - width));
  dag_range.setv({ start: low, end: low + width });
}

// A frame of a film: its models in the states they have then. Models come later than films.
function play(film, number, modelOf) {
  const frame = film.frames[number];
  if (!frame) return;
  let whole = true;
  film.models.forEach((id, i) => {
    if (film.now && film.now[i] === frame[i]) return;
    const state = film.states[i][frame[i]], model = modelOf(id);
    if (model) model.setv(state.data ? { data: { ...state.data } } : state);
    else whole = false;
  });
  film.now = whole ? frame : null;
}

// Rows out of a book; a row's own bar is beside its number.
function rowsOf(book, numbers) {
  return numbers.map((entry) =>
    (Array.isArray(entry) ? { ...book[entry[0]], share: entry[1] } : book[entry]));
}

// The words of a step; nothing where these pages do not have it.
function wordsAt(pages, step) {
  const k = step - pages.first;
  if (!(k >= 0 && k < pages.title.length)) return null;
  return { title: pages.title[k], live: rowsOf(pages.book, pages.live[k]),
    story: rowsOf(pages.book, pages.story[k]) };
}

// The nearest of some rising steps after one, or before it; it stays where there is none.
function nearest(steps, step, direction) {
  const ahead = steps.filter((at) => (direction > 0 ? at > step : at < step));
  return ahead.length ? ahead.at(direction > 0 ? 0 : -1) : step;
}

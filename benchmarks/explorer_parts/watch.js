// Runs in the page before anything else: when do frames show what the server has sent?
const Socket = window.WebSocket;
window.WebSocket = class extends Socket {  // held: the server hears nothing any more
  send(data) { if (!bench.held) super.send(data); }
};
const bench = {
  held: false, stepped: null, taken: null, plot: 0, rectangles: 0, idle: 0, began: 0, first: 0, last: 0, changed: 0,
  wanted: () => true,

  models() { return [...Bokeh.documents[0]._all_models.values()]; },

  // The frame after the next one has been painted with what has changed by now.
  painted(then) { requestAnimationFrame(() => setTimeout(() => then(performance.now()))); },

  figure(name) {
    const walk = (view) => {
      if (view.model.type === 'Figure' && view.model.css_classes.includes(name)) return view;
      for (const child of view.child_views || []) { const hit = walk(child); if (hit) return hit; }
    };
    for (const root of Bokeh.index.roots) { const hit = walk(root); if (hit) return hit; }
  },

  // Any figure that has its data on screen.
  plotted() {
    const walk = (view) => (view.model.type === 'Figure' && view.el.isConnected && view.bbox.width > 0
      && view.has_finished()) || (view.child_views || []).some(walk);
    return [...Bokeh.index.roots].some(walk);
  },

  listen() {
    Bokeh.documents[0].on_change((event) => {
      bench.changed = performance.now();
      const counts = bench.wanted(event);
      bench.painted((now) => {
        bench.last = Math.max(bench.last, now);
        if (counts && !bench.first) bench.first = now;
      });
    }, false);
  },

  arm(event, wanted) {
    Object.assign(bench, { first: 0, last: 0, wanted, began: performance.now() });
    if (event) document.addEventListener(event, () => { bench.began = performance.now(); },
      { capture: true, once: true });
  },

  quiet(ms) { return performance.now() - bench.changed > ms; },

  // All that shows where the cursor is: bands, marks, labels, small sources, words and tables.
  views() {
    const seen = [];
    for (const m of bench.models()) {
      if (m.type === 'BoxAnnotation') seen.push(m.left, m.right, m.top, m.bottom);
      else if (m.type === 'Label') seen.push(m.x, m.text, m.visible);
      else if (m.type === 'ColumnDataSource')
        for (const column of Object.values(m.data))
          if (column.length < 60) seen.push(column.length, ...column);
    }
    for (const name of ['step-title', 'story', 'live-title', 'live'])
      for (const view of bench.found(name))
        for (const node of view.shadow_el.children)
          if (!/^(STYLE|LINK)$/.test(node.tagName)) seen.push(node.textContent);
    return seen.join();
  },

  found(name) {
    const hits = [];
    const walk = (view) => {
      if ((view.model.css_classes || []).includes(name)) hits.push(view);
      for (const child of view.child_views || []) walk(child);
    };
    for (const root of Bokeh.index.roots) walk(root);
    return hits;
  },

  // From the next key or tap to the frame in which all views are where they stay, and how many frames.
  follow(quiet, event = 'keydown') {
    bench.stepped = null;
    const go = (event) => {
      const frames = [], inked = [], began = event.timeStamp;
      const clear = CanvasRenderingContext2D.prototype.clearRect;
      CanvasRenderingContext2D.prototype.clearRect = function (...box) {
        inked.push(performance.now());
        return clear.apply(this, box);
      };
      let before = views, changed = began;
      const look = () => requestAnimationFrame(() => {
        const now = bench.views();
        if (now !== before) { before = now; changed = performance.now(); }
        setTimeout(() => {
          const at = performance.now();
          frames.push(at);
          if (at - changed < quiet) { look(); return; }
          CanvasRenderingContext2D.prototype.clearRect = clear;
          const last = Math.max(changed, ...inked.filter((t) => t < changed + 50));
          const number = frames.findIndex((t) => t >= last);
          bench.stepped = { ms: frames[number] - began, frames: number + 1, moved: before !== views };
        });
      });
      look();
    };
    const views = bench.views();
    document.addEventListener(event, go, { capture: true, once: true });
  },

  // What went wrong, in the page's words.
  said() {
    const of = (name) => bench.models().find((m) => (m.css_classes || []).includes(name));
    return of('message-row')?.visible ? of('message').text : '';
  },

  // How long frames take, until somebody asks.
  count() {
    const found = bench.taken = [];
    let before = performance.now();
    const frame = () => requestAnimationFrame(() => {
      if (bench.taken !== found) return;
      const now = performance.now();
      found.push(now - before);
      before = now;
      frame();
    });
    frame();
  },

  counted() { const found = bench.taken; bench.taken = null; return found; },

  // Has a figure answer to the wheel, or to a drag.
  take(name, tool) {
    const { toolbar } = bench.figure(name).model, found = toolbar.tools.find((t) => t.type === tool);
    if (tool === 'WheelZoomTool') toolbar.active_scroll = found;
    else toolbar.active_drag = found;
    found.active = true;
  },

  whole(name) {
    const range = bench.figure(name).model.x_range;
    range.setv({ start: range.reset_start, end: range.reset_end });
  },

  // The rows of a figure's sources.
  glyphs(name) {
    const sources = new Set(bench.figure(name).model.renderers.map((r) => r.data_source));
    return [...sources].reduce((sum, source) => sum + (source.length || 0), 0);
  },
};
window.bench = bench;
(function look() {
  const ready = window.Bokeh && Bokeh.documents && Bokeh.documents[0];
  if (ready && !bench.idle) {
    if (!bench.plot && bench.plotted())
      bench.painted((now) => { bench.plot = bench.plot || now; });
    const figure = bench.figure('address-map');
    const source = bench.models().find((m) => m.type === 'ColumnDataSource'
      && m.data.tensor && m.data.story);
    if (!bench.rectangles && figure && figure._has_finished !== false && figure.el.isConnected
      && figure.bbox && figure.bbox.width > 0 && source && source.data.tensor.length)
      bench.painted((now) => { bench.rectangles = bench.rectangles || now; });
    if (Bokeh.documents[0].is_idle && bench.rectangles)
      bench.painted((now) => { bench.idle = bench.idle || now; });
  }
  if (!bench.idle) requestAnimationFrame(look);
})();

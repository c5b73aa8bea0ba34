// Runs in the page before anything else: when do frames show what the server has sent?
const Socket = window.WebSocket;
window.WebSocket = class extends Socket {  // held: the server hears nothing any more
  send(data) { if (!bench.held) super.send(data); }
};
const bench = {
  held: false, stepped: null, plot: 0, rectangles: 0, idle: 0, began: 0, first: 0, last: 0, changed: 0,
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

  // From the next key to the frame in which all views are where they stay, and how many frames.
  follow(quiet) {
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
    document.addEventListener('keydown', go, { capture: true, once: true });
  },

  // What went wrong, in the page's words.
  said() {
    const of = (name) => bench.models().find((m) => (m.css_classes || []).includes(name));
    return of('message-row')?.visible ? of('message').text : '';
  },

  slide(step) {
    const slider = bench.models().find((m) => m.type === 'Slider');
    bench.began = performance.now();
    slider.value = step;
  },

  // Moves a figure's range a little in each frame, and says how long the frames took.
  frames(name, count, how) {
    const range = bench.figure(name).model.x_range;
    const { start, end } = range, width = end - start, middle = (start + end) / 2, found = [];
    return new Promise((done) => {
      let before = performance.now();
      const frame = (k) => requestAnimationFrame(() => setTimeout(() => {
        const now = performance.now();
        if (k) found.push(now - before);
        before = now;
        if (k === count) { range.setv({ start, end }); done(found); return; }
        const share = Math.sin((k + 1) / count * Math.PI);
        if (how === 'pan') range.setv({ start: start + share * width / 3, end: end + share * width / 3 });
        else {
          const half = width / 2 * (1 - 0.9 * share);
          range.setv({ start: middle - half, end: middle + half });
        }
        frame(k + 1);
      }));
      frame(0);
    });
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

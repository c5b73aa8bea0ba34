// Bokeh makes a widget's view, which hears of changes from then on, and draws it once all beside it
// are made. Of a change in between, drawing reads the new value; Bokeh's own answer would throw, and
// the rest of the message that brought it would be lost.
document.addEventListener('DOMContentLoaded', () => {
  const named = (view, name) => view.__name__ === name ? view : named(Object.getPrototypeOf(view), name);
  const view = named(Bokeh.Models.get('Select').prototype.default_view, 'WidgetView').prototype;
  const { connect } = view;
  view.connect = function (signal, heard) {
    return connect.call(this, signal, (...change) =>
      this.shadow_el.hasChildNodes() ? heard.apply(this, change) : undefined);
  };
});

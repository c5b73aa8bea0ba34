// A field for one file, which goes to the server in pieces, each once the one before has been taken.
// A file is chosen, or dropped anywhere on the page: that hands it to `input`.
const CHUNK = 4 * 2 ** 20;  // the web socket takes messages of 20 MB

export function render({ model }) {
  const label = document.createElement('label'), input = document.createElement('input');
  const words = document.createElement('span');
  input.type = 'file';
  words.setAttribute('aria-live', 'polite');
  let next = null, turn = 0;  // sends a piece of the file that is on its way; which file that is
  const rest = () => { next = null; words.textContent = model.words; };
  function send(file) {
    turn += 1;
    const of = Math.max(1, Math.ceil(file.size / CHUNK));
    const piece = async (at) => {
      words.textContent = `${file.name}: ${Math.floor(100 * at / of)} %`;
      const said = { turn, name: file.name, at, of };
      try {
        const data = file.size > model.largest ? new ArrayBuffer(0)
          : await file.slice(at * CHUNK, (at + 1) * CHUNK).arrayBuffer();
        if (next === piece) model.send_msg({ ...said, size: file.size, data });
      } catch {
        if (next === piece) model.send_msg({ ...said, size: -1, data: new ArrayBuffer(0) });
      }
    };
    next = piece;
    piece(0);
  }
  input.onchange = () => {
    const [file] = input.files;
    input.value = '';  // the same file once more is a change too
    if (file) send(file);
  };
  model.on('msg:custom', (event) => {
    const { taken, ...answer } = event.data || event;
    if (answer.turn !== turn) return;  // of a file before
    if (taken && next) next(taken);
    else rest();
  });
  model.on('words', rest);
  rest();
  label.append(input, words);
  return label;
}

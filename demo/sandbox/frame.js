// The script of the sandbox's document, which it carries inline: starts the worker that the page sends.
addEventListener(
  'message',
  ({ data, ports, source }) => {
    // Framed without the attribute `sandbox`, the document has the site's origin, and the worker would have it too.
    if (source !== parent || self.origin !== 'null') return;
    const script = new Blob([data.workerText], { type: 'text/javascript' });
    const worker = new Worker(URL.createObjectURL(script));
    worker.postMessage({ wasm: data.wasm }, [...ports, data.wasm]);
  },
  { once: true },
);

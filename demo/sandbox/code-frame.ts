// Opens a document of this origin in which code that may run here, the visitor's own and trusted code, has its workers.
//
// Invariant: the workers have the document's policy on every host, because a worker whose address is a blob has the
// policy of the document that made both. The policy sends nothing to other origins, and lets a worker start only
// workers that have the same policy. Closing it ends them all.

import address from '../../packages/entries/source-worker.ts?worker&url';

export class CodeFrame {
  readonly #frame: HTMLIFrameElement;
  readonly #window: Window & typeof globalThis;

  private constructor(frame: HTMLIFrameElement) {
    this.#frame = frame;
    this.#window = frame.contentWindow as Window & typeof globalThis;
  }

  /** @throws the signal's reason, at once when it aborts */
  static open(signal: AbortSignal): Promise<CodeFrame> {
    const frame = document.createElement('iframe');
    frame.title = 'Code';
    frame.hidden = true;
    frame.src = new URL('code.html', document.baseURI).href;
    return new Promise((opened, failed) => {
      const giveUp = () => {
        frame.remove();
        failed(signal.reason);
      };
      if (signal.aborted) return giveUp();
      signal.addEventListener('abort', giveUp, { once: true });
      frame.addEventListener('load', () => {
        signal.removeEventListener('abort', giveUp);
        // The title is checked, because the page that a web host shows for a missing file has no policy.
        if (frame.contentDocument?.title === 'Code') return opened(new CodeFrame(frame));
        frame.remove();
        failed(
          new Error(`${frame.src} could not be loaded, and code runs only in it. Reload the page.`),
        );
      });
      document.body.append(frame);
    });
  }

  /** Starts a worker that waits for source code. */
  startSourceWorker(): Worker {
    const { Blob, URL, Worker } = this.#window;
    const text = scriptThatImports(new URL(address, document.baseURI).href);
    const script = URL.createObjectURL(new Blob([text], { type: 'text/javascript' }));
    return new Worker(script, { type: 'module' });
  }

  close(): void {
    this.#frame.remove();
  }
}

/**
 * `worker-src` would have to allow the addresses that a worker imports by `import …`, and so new workers from there.
 * `script-src` allows the addresses that `import()` loads; messages wait for it.
 */
function scriptThatImports(url: string): string {
  return `
const early = [];
const keep = (event) => early.push(event);
addEventListener('message', keep);
import(${JSON.stringify(url)}).then(
  () => {
    removeEventListener('message', keep);
    for (const { data, ports } of early) dispatchEvent(new MessageEvent('message', { data, ports }));
  },
  (error) => setTimeout(() => { throw error; }),
);`;
}

// The worker that runs a stranger's code: in a document without an origin, on memory. It gets what it needs in one
// message, because it can fetch nothing, and speaks to the page over the port that comes along.

import { expose } from 'comlink';
import {
  type ConsoleEntry,
  createObjects,
  loadSource,
  type SourceFiles,
} from '../../worker/entries/in-process.ts';
import { type Answer, type Calls, callsOf, type Target } from '../playground/calls.ts';

export interface SandboxApi extends Omit<Calls, 'openSocket'> {
  load(files: SourceFiles): Promise<string[]>;
  openSocket(target: Target, url: string): Promise<Answer>;
}

/** What the page is told unasked. */
export type SandboxEvent =
  | { readonly type: 'console'; readonly entry: ConsoleEntry }
  | { readonly type: 'socket'; readonly line: string };

addEventListener('message', ({ data, ports }: MessageEvent<{ wasm: ArrayBuffer }>) => {
  const [port, events] = ports;
  if (port === undefined || events === undefined) return;
  const tell = (event: SandboxEvent) => events.postMessage(event);
  let calls: Calls | undefined;
  const loaded = (): Calls => {
    if (calls === undefined) throw new Error('No code is loaded.');
    return calls;
  };
  const api: SandboxApi = {
    async load(files) {
      const { classes, exports } = await loadSource(files, {
        onConsole: (entry) => tell({ type: 'console', entry }),
      });
      const wasm = new Uint8Array(data.wasm);
      calls = callsOf(await createObjects(classes, { exports, wasm }));
      return Object.keys(classes);
    },
    call: (...given) => loaded().call(...given),
    fetch: (...given) => loaded().fetch(...given),
    openSocket: (target, url) =>
      loaded().openSocket(target, url, (line) => tell({ type: 'socket', line })),
    send: (...given) => loaded().send(...given),
    objects: (...given) => loaded().objects(...given),
    now: () => loaded().now(),
    advance: (...given) => loaded().advance(...given),
    runNextAlarm: () => loaded().runNextAlarm(),
    resume: () => loaded().resume(),
  };
  expose(api, port);
});

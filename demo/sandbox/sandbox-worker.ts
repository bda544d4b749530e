// The worker that runs a stranger's code: in a document without an origin, on memory. It gets its files in one
// message, because it can fetch nothing, and speaks to the page over the port in that message.

import {
  createObjects,
  loadSource,
  type SourceFiles,
} from '../../worker/start/entries/in-process.ts';
import { type Calls, callsOf, failureOf, LETTERS, shortened } from '../playground/calls.ts';
import { CLASSES_MAX, type SandboxAsk, type SandboxMessage } from './messages.ts';

addEventListener('message', ({ data, ports }: MessageEvent<{ wasm: ArrayBuffer }>) => {
  const [port] = ports;
  if (port === undefined) return;
  const tell = (message: SandboxMessage) => port.postMessage(message);
  let calls: Calls | undefined;
  const load = async (files: SourceFiles) => {
    const { classes, exports } = await loadSource(files, {
      onConsole: (entry) => tell({ type: 'console', entry }),
    });
    calls = callsOf(await createObjects(classes, { exports, wasm: new Uint8Array(data.wasm) }));
    return Object.keys(classes).slice(0, CLASSES_MAX);
  };
  const hear = (line: string) => tell({ type: 'socket', line: shortened(line, LETTERS.line) });
  const perform = ({ name, args }: SandboxAsk): unknown => {
    if (name === 'load') return load(args[0] as SourceFiles);
    if (calls === undefined) throw new Error('No code is loaded.');
    const action = calls[name as keyof Calls] as (...given: unknown[]) => unknown;
    return name === 'openSocket' ? action(...args, hear) : action(...args);
  };
  port.onmessage = async ({ data: ask }: MessageEvent<SandboxAsk>) => {
    const { id } = ask;
    try {
      tell({ type: 'answer', id, value: await perform(ask) });
    } catch (error) {
      tell({ type: 'failed', id, failure: failureOf(error) });
    }
  };
});

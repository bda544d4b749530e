// Runs a stranger's code in a worker of a document without an origin, with objects in memory. It gets its files in one
// message, because it can fetch nothing, and talks to the page over the port in that message.

import { loadSource, type SourceFiles } from '../../packages/entries/in-process.ts';
import { failureOf, LETTERS, shortened, type Target } from '../playground/calls.ts';
import type { SharedData } from '../playground/shared-data.ts';
import { CLASSES_MAX, type SandboxAsk, type SandboxMessage } from './messages.ts';
import { SandboxObjects } from './sandbox-objects.ts';

addEventListener('message', ({ data, ports }: MessageEvent<{ wasm: ArrayBuffer }>) => {
  const [port] = ports;
  if (port === undefined) return;
  const tell = (message: SandboxMessage) => port.postMessage(message);
  let objects: SandboxObjects | undefined;
  const load = async (files: SourceFiles, shared: SharedData | null) => {
    const source = await loadSource(files, {
      onConsole: (entry) => tell({ type: 'console', entry }),
    });
    objects = await SandboxObjects.start(source, new Uint8Array(data.wasm), shared);
    return Object.keys(source.classes).slice(0, CLASSES_MAX);
  };
  const hear = (line: string) => tell({ type: 'socket', line: shortened(line, LETTERS.line) });
  const perform = ({ name, args }: SandboxAsk): unknown => {
    if (name === 'load') return load(args[0] as SourceFiles, args[1] as SharedData | null);
    if (objects === undefined) throw new Error('No code is loaded.');
    switch (name) {
      case 'follow':
        return objects.follow(
          args[0] as Target,
          (reading) => tell({ type: 'reading', reading }),
          (error) => tell({ type: 'unread', failure: failureOf(error) }),
        );
      case 'unfollow':
        return objects.unfollow();
      case 'at':
      case 'restore':
      case 'revert':
        return objects.time[name](args[0] as string);
    }
    const action = objects.calls[name as keyof typeof objects.calls] as (
      ...given: unknown[]
    ) => unknown;
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

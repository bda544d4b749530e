// `docs/architecture.md` lists the calls from a lower layer of the worker to the one above it, and no class has a slot for
// another one.

import { expect, test } from 'vitest';
import { listFiles, readSource } from './source-files.ts';
import { listedInterfaces, slotsOf, upwardInterfaces } from './upward-calls.ts';

const FILES = listFiles(['worker/engine', 'worker/objects'], /(?<!\.test)\.ts$/).sort();

test('the document on the architecture lists each upward call, and no other', () => {
  const listed = listedInterfaces(readSource('docs/architecture.md'));
  expect(listed).toEqual(FILES.flatMap((file) => upwardInterfaces(file)));
});

test('no class has a function that anybody may assign', () => {
  expect(FILES.flatMap((file) => slotsOf(file))).toEqual([]);
});

test('interfaces of callbacks are found by their names, with methods and functions, and without data', () => {
  const source = `
    export interface QueueEvents { readonly name: string; done(): void; readonly failed: (error: unknown) => void }
    interface QueueEnvironment { now?: (() => number) | undefined }
    interface QueueOptions { ignored(): void }
    interface PlainOwner { readonly size: number }`;
  expect(upwardInterfaces('worker/queue.ts', source)).toEqual([
    { name: 'QueueEvents', module: 'worker/queue', calls: ['done', 'failed'] },
    { name: 'QueueEnvironment', module: 'worker/queue', calls: ['now'] },
  ]);
});

test('a slot is a member of a class that holds a function and can be assigned from outside', () => {
  const source = `
    class Queue {
      onDone: (() => void) | undefined;
      refusal: () => Error = refuse;
      readonly now: () => number;
      makeRoom = () => {};
      #told: () => void;
      length = 0;
      set onFailed(told: (error: unknown) => void) {}
      set limit(limit: number) {}
    }`;
  expect(slotsOf('queue.ts', source)).toEqual([
    'queue.ts: onDone',
    'queue.ts: refusal',
    'queue.ts: makeRoom',
    'queue.ts: onFailed',
  ]);
});

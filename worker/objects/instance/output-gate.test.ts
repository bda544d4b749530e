import { expect, test } from 'vitest';
import { OutputGate } from './instance-context.ts';

/** A gate whose flushes the test ends. */
function make() {
  let pending: Promise<void> | undefined;
  const log: string[] = [];
  const gate = new OutputGate(() => pending);
  return {
    log,
    /** From now on messages wait for this flush, until `durable`. */
    write() {
      const flush = { resolve: () => {}, reject: (_: Error) => {} };
      pending = new Promise((resolve, reject) => Object.assign(flush, { resolve, reject }));
      return flush;
    },
    durable: () => {
      pending = undefined;
    },
    send(name: string) {
      const passage = gate.passage();
      if (passage === undefined) log.push(name);
      else {
        passage.then(
          () => log.push(name),
          () => log.push(`${name} is lost`),
        );
      }
    },
    settle: () => new Promise((resolve) => setImmediate(resolve)),
  };
}

test('[GATE10] a message leaves at once when nothing was written, or everything is durable', async () => {
  const { log, write, durable, send, settle } = make();
  send('first');
  expect(log).toEqual(['first']);
  const flush = write();
  send('waits');
  flush.resolve();
  durable();
  await settle();
  send('last');
  expect(log).toEqual(['first', 'waits', 'last']);
});

test('[GATE14] a message waits for those before it, even if it has nothing else to wait for', async () => {
  const { log, write, durable, send, settle } = make();
  const flush = write();
  send('a');
  durable();
  send('b');
  await settle();
  expect(log).toEqual([]);
  flush.resolve();
  await settle();
  expect(log).toEqual(['a', 'b']);
});

test('[GATE14] a message that has left does not let those behind it out', async () => {
  const { log, write, durable, send, settle } = make();
  const first = write();
  send('a');
  const second = write();
  send('b');
  first.resolve();
  durable();
  await settle();
  send('c');
  await settle();
  expect(log).toEqual(['a']);
  second.resolve();
  await settle();
  expect(log).toEqual(['a', 'b', 'c']);
});

test('[GATE12] a message whose writes are lost takes those behind it along, and later ones leave', async () => {
  const { log, write, durable, send, settle } = make();
  const flush = write();
  send('a');
  durable();
  send('b');
  flush.reject(new Error('the disk failed'));
  await settle();
  send('c');
  expect(log).toEqual(['a is lost', 'b is lost', 'c']);
});

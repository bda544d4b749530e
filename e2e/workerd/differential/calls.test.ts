// The results that callers get from stubs, sockets and messages: the same questions to one class in
// workerd and here.

import { describe, expect, test } from 'vitest';
import { DurableObject, RpcStub, RpcTarget } from '../../../worker/start/entries/node-objects.ts';
import { askAll, deskClass } from './desk.ts';
import { disposalOf, disposeAll } from './disposal.ts';
import { askByWorker, askInNode } from './in-node.ts';
import { askInWorkerd } from './in-workerd.ts';
import { callAll, lineOf } from './line.ts';
import { plainAll, plainOf } from './plain.ts';
import { postAll, postOf } from './post.ts';
import { resetAll, resetOf } from './reset.ts';
import { sectionAll, sectionOf } from './section.ts';
import { turnsAll, turnsOf } from './turns.ts';
import { cutTo, wordsAll, wordsOf } from './words.ts';

const bases = { DurableObject, RpcStub, RpcTarget } as never;

describe('calls', async () => {
  const [there, here] = await Promise.all([
    askInWorkerd({ module: 'desk.ts', className: 'Desk', make: 'deskClass', ask: 'askAll' }),
    askInNode('Desk', deskClass(bases), askAll),
  ]);
  test.for(Object.keys(there))('[TWO2] %s', (what) => {
    expect(here[what]).toEqual(there[what]);
  });
});

describe('sockets', async () => {
  const [there, here] = await Promise.all([
    askInWorkerd({ module: 'line.ts', className: 'Line', make: 'lineOf', ask: 'callAll' }),
    askInNode('Line', lineOf(bases), callAll),
  ]);
  test.for(Object.keys(there))('[TWO3] %s', (what) => {
    expect(here[what]).toEqual(there[what]);
  });
});

describe('messages', async () => {
  const [there, here] = await Promise.all([
    askInWorkerd({ module: 'post.ts', className: 'Post', make: 'postOf', ask: 'postAll' }),
    askInNode('Post', postOf(bases), postAll),
  ]);
  test.for(Object.keys(there))('[TWO4] %s', (what) => {
    expect(here[what]).toEqual(there[what]);
  });
});

describe('callbacks into a critical section', async () => {
  const [there, here] = await Promise.all([
    askInWorkerd({
      module: 'section.ts',
      className: 'Section',
      make: 'sectionOf',
      ask: 'sectionAll',
    }),
    askInNode('Section', sectionOf(bases), sectionAll),
  ]);
  test.for(Object.keys(there))('[TWO5] %s', (what) => {
    expect(here[what]).toEqual(there[what]);
  });
});

describe('disposal', async () => {
  const [there, here] = await Promise.all([
    askInWorkerd({
      module: 'disposal.ts',
      className: 'Disposal',
      make: 'disposalOf',
      ask: 'disposeAll',
    }),
    askInNode('Disposal', disposalOf(bases), disposeAll),
  ]);
  test.for(Object.keys(there))('[TWO6] %s', (what) => {
    expect(here[what]).toEqual(there[what]);
  });
});

describe('turns that write, and end', async () => {
  const [there, here] = await Promise.all([
    askInWorkerd({ module: 'turns.ts', className: 'Turns', make: 'turnsOf', ask: 'turnsAll' }),
    askInNode('Turns', turnsOf(bases), turnsAll),
  ]);
  test.for(Object.keys(there))('[TWO11] %s', (what) => {
    expect(here[what]).toEqual(there[what]);
  });
});

describe('resets', async () => {
  const [there, here] = await Promise.all([
    askInWorkerd({ module: 'reset.ts', className: 'Reset', make: 'resetOf', ask: 'resetAll' }),
    askByWorker('Reset', resetOf(bases), resetAll),
  ]);
  test.for(Object.keys(there))('[TWO7] %s', (what) => {
    expect(here[what]).toEqual(there[what]);
  });
});

describe('a class that extends nothing', async () => {
  const [there, here] = await Promise.all([
    askInWorkerd({ module: 'plain.ts', className: 'Plain', make: 'plainOf', ask: 'plainAll' }),
    askInNode('Plain', plainOf(), plainAll),
  ]);
  test.for(Object.keys(there))('[TWO2] %s', (what) => {
    expect(here[what]).toEqual(there[what]);
  });
});

describe('members and errors that programs recognize', async () => {
  const [there, here] = await Promise.all([
    askInWorkerd({ module: 'words.ts', className: 'Words', make: 'wordsOf', ask: 'wordsAll' }),
    askInNode('Words', wordsOf(bases), wordsAll),
  ]);
  test.for(Object.keys(there))('[TWO9] %s', (what) => {
    expect(cutTo(there, here)[what]).toEqual(there[what]);
  });
});

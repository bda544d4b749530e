// Lists the examples of code that a visitor can start from.

import type { SourceFiles } from '../../packages/entries/connect-source.ts';
import chat from './examples/chat.ts?raw';
import counter from './examples/counter.ts?raw';
import limiter from './examples/limiter.ts?raw';
import limits from './examples/limits.ts?raw';
import list from './examples/list.ts?raw';
import notes from './examples/notes.ts?raw';
import queue from './examples/queue.ts?raw';
import stock from './examples/stock.ts?raw';

export interface FirstCall {
  readonly method: string;
  readonly args: readonly unknown[];
}

export interface Example {
  readonly id: string;
  readonly label: string;
  readonly files: SourceFiles;
  /** The calls that are made when the example first runs without stored data, so that there is something to see. */
  readonly first?: readonly FirstCall[];
}

const FIRST_STOCK = [
  { method: 'receive', args: ['tea', 12] },
  { method: 'receive', args: ['cups', 4] },
  { method: 'sell', args: ['tea', 3] },
];

export const EXAMPLES: readonly Example[] = [
  { id: 'stock', label: 'Stock of a shop', files: { 'main.ts': stock }, first: FIRST_STOCK },
  {
    id: 'counter',
    label: 'Counter',
    files: { 'main.ts': counter },
    first: [{ method: 'add', args: [] }],
  },
  { id: 'chat', label: 'Chat with sockets', files: { 'main.ts': chat } },
  { id: 'notes', label: 'Notes with full-text search', files: { 'main.ts': notes } },
  { id: 'limiter', label: 'Rate limiter', files: { 'main.ts': limiter, 'limits.ts': limits } },
  { id: 'queue', label: 'Queue with an alarm', files: { 'main.ts': queue } },
  { id: 'list', label: 'Shared list, read live', files: { 'main.ts': list } },
];

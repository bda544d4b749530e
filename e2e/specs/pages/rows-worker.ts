// Stores rows of files in IndexedDB and looks whether they exist, both without end; with `?once`, stores one
// row. Posts its first result: `opened`, or `stored`.

import { IdbRows } from '../../../worker/engine/file/idb-rows.ts';

const rows = await IdbRows.open('ended');
const path = { key: 'object', name: 'file' };

function store(index: number): Promise<void> {
  const bytes = new Uint8Array(4096).fill(index + 1);
  return rows.save([{ path, cutAt: null, chunks: [[index, bytes]], sizeBytes: 200_000 }]);
}

async function storeForEver(): Promise<void> {
  for (let i = 0; ; i++) await store(i % 40);
}

async function lookForEver(): Promise<void> {
  while (await rows.exists());
}

if (self.location.search === '?once') {
  await store(0);
  rows.close();
  postMessage('stored');
} else {
  postMessage('opened');
  void storeForEver();
  void lookForEver();
}

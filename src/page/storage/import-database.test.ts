import { afterEach, beforeEach, expect, test } from 'vitest';
import type { FakeHost } from '../../../packages/testing/page/fake-host.ts';
import { FakeTabs } from '../../../packages/testing/page/fake-tabs.ts';
import { runCandidate } from '../../../worker/start/boot/candidate.ts';
import type { RemoteStorage } from '../../shared/contract/storage.ts';

let tabs: FakeTabs;
let storage: RemoteStorage;
let host: FakeHost;

beforeEach(async () => {
  tabs = new FakeTabs(runCandidate);
  const tab = tabs.tab();
  storage = await tab.open('object');
  host = tab.leadingHost;
});

afterEach(() => tabs.close());

const bytes = new Uint8Array([9, 1, 2, 3, 9]);
const view = bytes.subarray(1, 4);

test.for<[string, ArrayBuffer | ArrayBufferView | Blob]>([
  ['an ArrayBuffer', view.slice().buffer],
  ['a view, without what is around it', view],
  ['a DataView', new DataView(bytes.buffer, 1, 3)],
  ['a Blob', new Blob([view])],
])('[MOVE11] a file is %s', async ([, file]) => {
  await storage.importDatabase(file, file);
  const [[call] = []] = host.messages;
  if (call?.op !== 'importDatabase') throw new Error(`${call?.op} was sent.`);
  expect(call.database).toEqual(Uint8Array.of(1, 2, 3));
  expect(call.wal).toEqual(call.database);
  expect(call.database.buffer.byteLength).toBe(3);
});

test('[MOVE11] a file is taken as it is at the call', async () => {
  const file = view.slice();
  const imported = storage.importDatabase(file, null);
  file.fill(0);
  await imported;
  expect(host.messages).toMatchObject([[{ database: Uint8Array.of(1, 2, 3), wal: null }]]);
});

/** Makes a file as a browser gives it for a file on disk. `read` returns its bytes when it is read. */
function chosen(read: () => Promise<ArrayBuffer>): File {
  return Object.assign(new File([view], 'copy.sqlite'), { arrayBuffer: read });
}

test.for<[string, () => Promise<ArrayBuffer>]>([
  ['is refused', () => Promise.reject(new DOMException('could not be read', 'NotReadableError'))],
  ['has gone', () => Promise.reject(new DOMException('not found', 'NotFoundError'))],
  ['is shorter now', async () => new ArrayBuffer(2)],
])(
  '[MOVE15] a chosen file that %s is INPUT_CHANGED with its name, and nothing is sent',
  async ([, read]) => {
    const error = {
      code: 'INPUT_CHANGED',
      message: expect.stringMatching(
        /^importDatabase: the file "copy\.sqlite" was changed.* Choose it again\.$/,
      ),
    };
    await expect(storage.importDatabase(chosen(read))).rejects.toMatchObject(error);
    await expect(storage.importDatabase(view, chosen(read))).rejects.toMatchObject(error);
    expect(host.messages).toEqual([]);
  },
);

test.for<[string, unknown[]]>([
  ['nothing', []],
  ['a string', ['file.sqlite']],
  ['an array', [[1, 2, 3]]],
  ['a WAL that is an object', [view, {}]],
])('[MOVE11] %s is INVALID_ARGUMENT, and nothing is sent', async ([, args]) => {
  const loose = storage as unknown as { importDatabase(...args: unknown[]): Promise<unknown> };
  await expect(loose.importDatabase(...args)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  expect(host.messages).toEqual([]);
});

test('[MOVE11] an import travels alone, in its place among the calls', async () => {
  const calls = [
    storage.get('a'),
    storage.get('b'),
    storage.importDatabase(view),
    storage.get('c'),
  ];
  await Promise.all(calls);
  const sent = host.messages.map((message) => message.map(({ op }) => op));
  expect(sent).toEqual([['get', 'get'], ['importDatabase'], ['get']]);
});

test.for<[string, ArrayBufferView | Blob]>([
  ['a view', view],
  ['a Blob', new Blob([view])],
])(
  '[MOVE10] inside the handle’s transaction, %s is refused before the worker, whose import would wait for its end',
  async ([, file]) => {
    await storage.transaction(async () => {
      await expect(storage.importDatabase(file)).rejects.toMatchObject({
        code: 'TRANSACTION_NESTING',
      });
    });
    expect(host.messages.flat().map(({ op }) => op)).not.toContain('importDatabase');
  },
);

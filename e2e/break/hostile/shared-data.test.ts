// Links of the playground that carry stored objects: as they are made, and as a stranger makes them.

import { readFileSync } from 'node:fs';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { toText } from '../../../demo/playground/packed.ts';
import {
  fromHash,
  LINK_CHARS_MAX,
  toHash,
  unpackText,
} from '../../../demo/playground/share-link.ts';
import {
  FILES_BYTES_MAX,
  packData,
  type SharedData,
  type SharedObject,
  unpackData,
} from '../../../demo/playground/shared-data.ts';
import { SandboxObjects } from '../../../demo/sandbox/sandbox-objects.ts';
import { Draws } from '../../../packages/testing/page/draws.ts';
import { createObjects, MemoryMedium } from '../../../worker/start/entries/in-process.ts';
import { DurableObject } from '../../../worker/start/entries/objects.ts';
import { mutate } from './byte-mutations.ts';

const wasm = () =>
  new Uint8Array(readFileSync(new URL('../../../worker/engine/vfs/sqlite3.wasm', import.meta.url)));

class Keeper extends DurableObject {
  add(body: string) {
    this.ctx.storage.sql.exec('CREATE TABLE IF NOT EXISTS note(body TEXT)');
    this.ctx.storage.sql.exec('INSERT INTO note VALUES (?)', body);
  }
  wake(timeMs: number) {
    return this.ctx.storage.setAlarm(timeMs);
  }
  alarm() {
    this.add('the alarm ran');
  }
}

const KEY = `Keeper.${'0'.repeat(64)}`;
const object: SharedObject = {
  key: KEY,
  className: 'Keeper',
  name: 'first',
  files: new Map([
    ['main', new Uint8Array([1, 0, 2, 0, 0])],
    ['log-00000001', new Uint8Array(70_000)],
  ]),
};
const data: SharedData = { clockMs: 5, objects: [object] };

/** A stranger's bytes: any header, any contents. */
function forged(header: unknown, contents = new Uint8Array()): Uint8Array<ArrayBuffer> {
  const text = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(4);
  length.writeUInt32BE(text.length);
  return new Uint8Array(deflateRawSync(Buffer.concat([length, text, contents])));
}

const headerOf = (change: object) => ({
  clockMs: null,
  objects: [{ key: KEY, name: null, files: [['main', 2, 1]], ...change }],
});

test('[DEMO31] data and code of a link are read as they were written; zeros at the end of a file are not carried', async () => {
  const packed = await packData(data);
  expect(packed.length).toBeLessThan(250);
  expect(await unpackData(packed)).toEqual(data);
  const code = { name: 'Mine', files: { 'main.ts': 'export {}' }, data: toText(packed) };
  expect(await fromHash(await toHash(code))).toEqual(code);
  expect(await fromHash(await toHash({ ...code, data: null }))).toEqual({ ...code, data: null });
  expect(LINK_CHARS_MAX).toBeLessThan(65_536);
});

test('[DEMO31] more data than can be shared is refused with the bound', async () => {
  const large = new Map([['main', new Uint8Array(FILES_BYTES_MAX + 1)]]);
  await expect(packData({ ...data, objects: [{ ...object, files: large }] })).rejects.toThrow(
    'at most 16 MiB of files',
  );
  await expect(
    packData({ ...data, objects: new Array<SharedObject>(201).fill(object) }),
  ).rejects.toThrow('at most 200 objects');
});

test('[DEMO32] a link that unpacks to more than the bounds, or names anything else, is refused', {
  tags: 'long',
}, async () => {
  // A thousand times as long as its packed form, and unpacked only up to the bound.
  const bomb = new Uint8Array(deflateRawSync(Buffer.alloc(200 * 1024 * 1024)));
  await expect(unpackData(bomb)).rejects.toThrow('at most 16 MiB of files');
  const sizes = headerOf({
    files: [
      ['main', FILES_BYTES_MAX, 0],
      ['checkpoint', 1, 0],
    ],
  });
  await expect(unpackData(forged(sizes))).rejects.toThrow('at most 16 MiB of files');
  const many = { clockMs: null, objects: new Array(201).fill({}) };
  await expect(unpackData(forged(many))).rejects.toThrow('at most 200 objects');
  const one = Buffer.from([1]);
  expect(await unpackData(forged(headerOf({}), one))).toMatchObject({ objects: [{ key: KEY }] });
  for (const [header, contents] of [
    [null, one],
    [{ clockMs: 'now', objects: [] }, new Uint8Array()],
    [{ clockMs: 9e15, objects: [] }, new Uint8Array()],
    [{ clockMs: null, objects: {} }, new Uint8Array()],
    [headerOf({ key: '../../secret' }), one],
    [headerOf({ key: `Keeper.${'0'.repeat(63)}/` }), one],
    [headerOf({ key: `Keeper.${'0'.repeat(64)}.${'a'.repeat(65)}` }), one],
    [headerOf({ name: 'x'.repeat(1025) }), one],
    [headerOf({ name: {} }), one],
    [headerOf({ files: [['host.lock', 1, 1]] }), one],
    [headerOf({ files: [['main', 1, 2]] }), one],
    [headerOf({ files: [['main', -1, -1]] }), one],
    [headerOf({ files: [['main', 1.5, 1]] }), one],
    [headerOf({ files: [['main', 2, 2]] }), one],
    [
      headerOf({
        files: [
          ['main', 1, 1],
          ['main', 0, 0],
        ],
      }),
      one,
    ],
    [headerOf({ files: [] }), one],
    [headerOf({ files: new Array(65).fill(['main', 0, 0]) }), new Uint8Array()],
    [
      { clockMs: null, objects: [...headerOf({}).objects, ...headerOf({}).objects] },
      Buffer.from([1, 1]),
    ],
  ] as const) {
    await expect(unpackData(forged(header, contents)), JSON.stringify(header)).rejects.toThrow(
      'The link is damaged: the data in it cannot be read.',
    );
  }
});

test('[DEMO32] any change of the bytes of a link gives data, or an error that says so', {
  tags: 'long',
}, async () => {
  const packed = await packData(data);
  const plain = inflateRawSync(packed);
  let failures = 0;
  const property = fc.asyncProperty(fc.gen(), async (generate) => {
    const draws = new Draws(generate);
    const outer = new Uint8Array(mutate(packed, draws));
    const inner = new Uint8Array(deflateRawSync(mutate(plain, draws)));
    for (const bytes of [outer, inner]) {
      const error = await unpackData(bytes).then(
        () => null,
        (thrown: Error) => thrown.message,
      );
      if (error === null) continue;
      failures += 1;
      expect(error).toMatch(/^The link is (?:damaged|refused): /);
    }
  });
  await fc.assert(property, { numRuns: 200, unbiased: true });
  expect(failures).toBeGreaterThan(100);
  await expect(unpackText('not a text of a link!')).rejects.toThrow('The link is damaged');
});

test('[DEMO33] in the sandbox, shared objects have their rows, names, commits and bookmarks; an earlier state is read and restored, and no alarm is overdue', async () => {
  const medium = new MemoryMedium();
  const first = await createObjects({ Keeper }, { wasm: wasm(), medium });
  const stub = first.env.Keeper.getByName('first');
  await stub.add('one');
  await stub.add('two');
  const soonMs = Date.now() + 60_000;
  await stub.wake(soonMs);
  const storage = await first.storage(stub);
  const history = await storage.history();
  await first.close();

  const [key] = await medium.keys();
  const directory = await medium.directory(key!);
  const files = new Map<string, Uint8Array<ArrayBuffer>>();
  for (const name of await directory.names()) {
    const file = await directory.open(name);
    const bytes = new Uint8Array(file.sizeBytes());
    file.read(bytes, 0);
    files.set(name, bytes);
  }
  // The clock stands before the alarm, as if the link were opened after it.
  const shared = { key: key!, className: 'Keeper', name: 'first', files };
  const packed = await packData({ clockMs: soonMs - 1000, objects: [shared] });
  const opened = await SandboxObjects.start(
    { classes: { Keeper }, exports: {} },
    wasm(),
    await unpackText(toText(packed)),
  );
  const [line] = await opened.calls.objects(['Keeper']);
  expect(line).toMatchObject({ className: 'Keeper', name: 'first', nextAlarm: soonMs });
  const target = { className: 'Keeper', name: 'first' };
  const reading = await new Promise<Parameters<Parameters<typeof opened.follow>[1]>[0]>(
    (heard, failed) => void opened.follow(target, heard, failed),
  );
  expect(reading.commits.map(({ bookmark }) => bookmark)).toEqual(
    history.map(({ bookmark }) => bookmark).reverse(),
  );
  expect(reading.commits.map(({ label }) => label)).toContain('add()');
  expect(reading.state.tables[0]!.rows.map(({ texts }) => texts)).toEqual([['one'], ['two']]);

  const one = reading.commits.find(({ label }) => label === 'add()')!;
  const past = await opened.time.at(one.bookmark);
  expect(past.state.tables[0]!.rows.map(({ texts }) => texts)).toEqual([['one']]);
  expect([...past.differences.tables.get('note')!.rows.values()]).toEqual(['added']);
  await opened.time.restore(one.bookmark);
  const answer = await opened.calls.call(target, 'add', ['three']);
  expect(answer.kind).toBe('value');
  const last = await lastOf(opened, target);
  const { state } = await opened.time.at(last.bookmark);
  expect(state.tables[0]!.rows.map(({ texts }) => texts)).toEqual([['one'], ['three']]);
  await opened.close();
});

async function lastOf(opened: SandboxObjects, target: { className: string; name: string }) {
  return new Promise<{ bookmark: string }>((heard, failed) => {
    void opened.follow(target, ({ commits }) => heard(commits.at(-1)!), failed);
  });
}

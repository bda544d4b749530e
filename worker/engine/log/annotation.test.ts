import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { openLog, put, TestEnvironment } from '../../../packages/testing/worker/test-log.ts';
import { COMMIT_KINDS, type CommitAuthor } from '../../../src/shared/contract/storage.ts';
import { MemoryDirectory } from '../file/memory-file.ts';
import { ANNOTATION_BYTES_MAX, annotationOf, authorIn } from './annotation.ts';

const text = (maxLength: number) => fc.string({ minLength: 1, maxLength, unit: 'binary' });
const author = fc.record(
  {
    kind: fc.constantFrom(...COMMIT_KINDS),
    method: text(32),
    connection: fc.stringMatching(/^[\w-]{1,36}$/),
    label: text(64),
  },
  { requiredKeys: ['kind'] },
);

test('[LOG31] an annotation is read as it was written', () => {
  fc.assert(
    fc.property(author, (by) => {
      const annotation = annotationOf(by as CommitAuthor);
      const { bytes } = annotation;
      expect(annotation.by).toEqual(by);
      expect(bytes.length % 4).toBe(0);
      expect(bytes.length).toBeLessThanOrEqual(ANNOTATION_BYTES_MAX);
      expect(authorIn(bytes)).toEqual(by);
    }),
  );
});

test('[LOG31] an annotation with any byte damaged, or cut off, is not read', () => {
  const { bytes } = annotationOf({ kind: 'call', method: 'add', connection: 'c', label: 'Step' });
  for (let at = 0; at < bytes.length; at++) {
    const damaged = bytes.slice();
    damaged[at]! ^= 0x10;
    expect(authorIn(damaged), `byte ${at}`).toBeNull();
  }
  for (let length = 0; length < bytes.length; length++) {
    expect(authorIn(bytes.slice(0, length)), `${length} bytes`).toBeNull();
  }
});

test('[LOG31] [LOG17] each kind of author has the number of the document', () => {
  const document = readFileSync(
    new URL('../../../docs/commit-log-format.md', import.meta.url),
    'utf8',
  );
  const [, told = ''] = /^ 6 {2}u8 +kind +((?:\d+ \w+,?\s+)+)/m.exec(document) ?? [];
  const kinds = [...told.matchAll(/(\d+) (\w+)/g)].map(([, number, kind]) => [
    Number(number),
    kind,
  ]);
  expect(kinds.slice(0, 2)).toEqual([
    [1, 'storage'],
    [2, 'call'],
  ]);
  expect(COMMIT_KINDS.map((kind) => [annotationOf({ kind }).bytes[6], kind])).toEqual(kinds);
});

test('[LOG31] the name of a method is cut to 128 bytes, between characters', () => {
  const { by, bytes } = annotationOf({ kind: 'call', method: `x${'ü'.repeat(90)}` });
  expect(by.method).toBe(`x${'ü'.repeat(63)}`);
  expect(authorIn(bytes)).toEqual(by);
  const nameOf = (method: string) => annotationOf({ kind: 'call', method }).by.method;
  expect(nameOf('m'.repeat(128))).toBe('m'.repeat(128));
  expect(nameOf('m'.repeat(129))).toBe('m'.repeat(128));
});

test('[LOG31] a damaged annotation of a large record is CORRUPT for the history, not wrong data', async () => {
  const directory = new MemoryDirectory();
  const { files, db, close } = await openLog(directory, new TestEnvironment());
  files.annotate(annotationOf({ kind: 'storage', label: 'Large' }));
  put(db, 1, 'x'.repeat(200_000));
  await files.flush();
  const range = { fromMs: 0, toMs: Number.POSITIVE_INFINITY, before: null, limit: 1 };
  expect((await files.listCommits(range))[0]!.by).toEqual({ kind: 'storage', label: 'Large' });
  await files.checkpoint(); // the next opening does not read the record
  await close();

  const log = await directory.open('log-00000001');
  const whole = new Uint8Array(log.sizeBytes());
  log.read(whole, 0);
  const at = Buffer.from(whole).indexOf('Large');
  expect(at).toBeGreaterThan(4096);
  log.write(new TextEncoder().encode('Small'), at);
  log.close();
  const again = await openLog(directory, new TestEnvironment());
  await expect(again.files.listCommits(range)).rejects.toMatchObject({ code: 'CORRUPT' });
  await again.close();
});

// Tests the bytes of changes: what is encoded is decoded, and damaged messages are refused.

import { expect, test } from 'vitest';
import { serialize } from '../../../src/shared/values/encode.ts';
import { decodeChanges, decodeCopyPlace, encodeChanges } from './changes-bytes.ts';
import { bytesOfText, isTextReadExactly } from './exact-text.ts';

const CHANGES = { isWiped: false, schema: null, sequences: null, kv: [], kvGone: [] };
const withCell = (cell: string) =>
  serialize({
    ...CHANGES,
    tables: [{ name: 't', keys: ['a'], columns: ['a'], isWhole: false, rows: [cell], gone: [] }],
  });

test('[FOLC1] a text is sent unchanged, or as U+FFFD and its bytes in hex', () => {
  expect(bytesOfText('plain')).toBeNull();
  expect(bytesOfText('with \ufffd in it')).toBeNull();
  expect(bytesOfText('\ufffd61EDA0BD')).toEqual(new Uint8Array([0x61, 0xed, 0xa0, 0xbd]));
  expect(bytesOfText('\ufffd')).toEqual(new Uint8Array());
  for (const cell of ['plain', '', '\ufffd', '\ufffd61']) {
    expect(decodeChanges(withCell(cell)).tables[0]!.rows).toEqual([[cell]]);
  }
  for (const cell of ['\ufffd6', '\ufffdzz', '\ufffd61 ']) {
    expect(() => decodeChanges(withCell(cell))).toThrow(/U\+FFFD/);
  }
});

test('[FOLP32] incomplete rows, lists longer than their message, and bytes that are not a value are refused at once', () => {
  const table = { name: 't', keys: ['a'], columns: ['a', 'b'], isWhole: false, rows: [], gone: [] };
  const sent = (changed: object) => serialize({ ...CHANGES, tables: [{ ...table, ...changed }] });
  expect(decodeChanges(sent({ rows: [1, 2, 3, 4], gone: [5] })).tables).toEqual([
    {
      ...table,
      rows: [
        [1, 2],
        [3, 4],
      ],
      gone: [[5]],
    },
  ]);
  const endless: unknown[] = [];
  endless.length = 4_000_000_000;
  const wrong = [
    sent({ rows: [1, 2, 3] }),
    sent({ rows: [1], columns: [] }),
    sent({ rows: endless }),
    sent({ keys: endless }),
    serialize({ ...CHANGES, tables: endless }),
    serialize({ ...CHANGES, tables: [], kvGone: endless }),
    new Uint8Array([255, 15, 1, 2, 3]),
    'text',
  ];
  for (const message of wrong) {
    expect(() => decodeChanges(message)).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
    );
  }
});

const TABLE = { name: 't', keys: ['a'], columns: ['a', 'b'], isWhole: true, rows: [], gone: [] };
/** Changes in the form in which a message contains them. */
const SENT = {
  isWiped: true,
  schema: [{ type: 'table', name: 't', sql: 'CREATE TABLE t (a, b)' }],
  tables: [TABLE],
  sequences: [
    ['t', 1],
    ['u', 2n],
  ],
  kv: [['key', new Uint8Array([1])]],
  kvGone: ['gone'],
};

test('[FOLC1] changes are read as they were made, without further fields', () => {
  const types = ['table', 'index', 'trigger', 'view'] as const;
  const cells = [null, 1, 2n, 'text', new Uint8Array([3]), 1.5];
  const changes = {
    ...SENT,
    schema: types.map((type) => ({ type, name: `a ${type}`, sql: 'CREATE' })),
    tables: [
      {
        ...TABLE,
        rows: [cells.slice(0, 2), cells.slice(2, 4), cells.slice(4)],
        gone: [[1], ['x']],
      },
      { ...TABLE, name: 'u', keys: ['a', 'b'], isWhole: false, gone: [[1, 2]] },
      { ...TABLE, name: 'empty' },
    ],
  };
  expect(decodeChanges(encodeChanges(changes as never))).toEqual(changes);
  const empty = { ...CHANGES, tables: [] };
  expect(decodeChanges(serialize({ ...empty, more: 1 }))).toEqual(empty);
  const further = serialize({ ...SENT, tables: [{ ...TABLE, more: 1 }] });
  expect(decodeChanges(further).tables).toEqual([TABLE]);
});

test('[FOLP32] each field of changes is checked, and the error names the wrong one', () => {
  const [object] = SENT.schema;
  const schema = (changed: object) => ({ schema: [{ ...object, ...changed }] });
  const table = (changed: object) => ({ tables: [{ ...TABLE, ...changed }] });
  const wrong: [object, string][] = [
    [{ isWiped: 0 }, 'isWiped'],
    [{ schema: undefined }, 'schema'],
    [{ schema: ['table'] }, 'schema'],
    [schema({ type: 'Table' }), 'type is not table, index, trigger, view'],
    [schema({ name: 1 }), 'name'],
    [schema({ sql: null }), 'sql'],
    [{ tables: null }, 'tables'],
    [{ tables: [null] }, 'table'],
    [table({ name: 1 }), 'name'],
    [table({ keys: 'a' }), 'keys'],
    [table({ keys: [1] }), 'key'],
    [table({ columns: 'a' }), 'columns'],
    [table({ columns: [1] }), 'column'],
    [table({ isWhole: 1 }), 'isWhole'],
    [table({ rows: 'r' }), 'rows'],
    [table({ rows: [1, undefined] }), 'value'],
    [table({ rows: [1, true] }), 'value'],
    [table({ rows: [1, '\ufffd6'] }), 'value'],
    [table({ rows: [1] }), 'rows is not a list with 2 values'],
    [table({ gone: 'g' }), 'gone'],
    [table({ gone: [1, 2], keys: ['a', 'b', 'c'] }), 'gone is not a list with 3 values'],
    [{ sequences: undefined }, 'sequences'],
    [{ sequences: [null] }, 'sequence'],
    [{ sequences: [['t', 1, 2]] }, 'sequence'],
    [{ sequences: [['t', '1']] }, 'sequence is not a number'],
    [{ sequences: [[1, 1]] }, 'table'],
    [{ kv: 'k' }, 'kv'],
    [{ kv: [null] }, 'entry'],
    [{ kv: [['k', new Uint8Array(1), 2]] }, 'entry'],
    [{ kv: [[1, new Uint8Array(1)]] }, 'key'],
    [{ kv: [['k', [1]]] }, 'value'],
    [{ kvGone: 'k' }, 'kvGone'],
    [{ kvGone: [1] }, 'key'],
  ];
  const refusal = (told: string) =>
    expect.objectContaining({
      code: 'INVALID_ARGUMENT',
      message: expect.stringMatching(new RegExp(`^(?=.*: ${told}\\b).* is not \\w`)),
    });
  for (const [changed, told] of wrong) {
    const decode = () => decodeChanges(serialize({ ...SENT, ...changed }));
    expect(decode, told).toThrow(refusal(told));
  }
  expect(() => decodeChanges(serialize(null))).toThrow(refusal('changes is not an object'));
  expect(() => decodeChanges(new Uint8Array([255, 15, 1]))).toThrow(
    refusal('changes is not a serialized value'),
  );
  expect(() => decodeChanges(null)).toThrow(refusal('changes'));
});

test('[FOLC9] a place of a wrong shape is decoded as null', () => {
  const place = { table: 't', after: [1, 'x', 2n, null], sentBytes: 5 };
  for (const good of [
    place,
    { ...place, table: null, after: ['key'] },
    { ...place, after: null, sentBytes: 0 },
    { ...place, after: [] },
  ]) {
    expect(decodeCopyPlace({ ...good, more: 1 })).toEqual(good);
  }
  for (const wrong of [
    null,
    'place',
    {},
    { ...place, table: 1 },
    { ...place, table: undefined },
    { ...place, after: undefined },
    { ...place, after: [1, 2, 3, 4, 5] },
    { ...place, after: [true] },
    { ...place, after: ['\ufffd6'] },
    { ...place, sentBytes: -1 },
    { ...place, sentBytes: null },
  ]) {
    expect(decodeCopyPlace(wrong)).toBeNull();
  }
});

test('[FOLC1] a text is read exactly unless it has U+FFFD', () => {
  for (const text of ['plain', '']) expect(isTextReadExactly(text)).toBe(true);
  for (const text of ['\ufffd', 'a\ufffd', '\ufffdb']) expect(isTextReadExactly(text)).toBe(false);
});

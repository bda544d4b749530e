// Changes that a server may send: texts that are sent by their bytes, and damaged messages.

import { expect, test } from 'vitest';
import { serialize } from '../../shared/values/encode.ts';
import { decodeChanges } from './changes-bytes.ts';
import { bytesOfText } from './exact-text.ts';

const CHANGES = { isWiped: false, schema: null, sequences: null, kv: [], kvGone: [] };
const withCell = (cell: string) =>
  serialize({
    ...CHANGES,
    tables: [{ name: 't', keys: ['a'], columns: ['a'], isWhole: false, rows: [cell], gone: [] }],
  });

test('[FOLC1] a text is itself, or U+FFFD and its bytes in hex', () => {
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

test('[FOLP32] rows that are not whole, lists longer than their message, and bytes that are no value are refused at once', () => {
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

// Texts that are sent by their bytes, and others that a server may send.

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

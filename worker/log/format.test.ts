import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import {
  SLOT,
  SLOT_BYTES,
  SLOT_MAGIC,
  SLOT_STRIDE_BYTES,
  TABLE_OFFSET,
} from './checkpoint-file.ts';
import { ENTRY, ENTRY_HEADER_BYTES, MARKER_BODY, RANGE, RECORD, RECORD_MAGIC } from './record.ts';
import { INDEX, INDEX_ENTRIES_MAX, INDEX_ENTRY_BYTES, SEGMENT, SEGMENT_MAGIC } from './segment.ts';

const text = readFileSync(new URL('../../docs/commit-log-format.md', import.meta.url), 'utf8');

/** The tables of offsets in the document, in order. */
function tables(): Record<string, number>[] {
  const found: Record<string, number>[] = [];
  for (const block of text.split('| offset | type | field | meaning |').slice(1)) {
    const rows = block.split('\n\n')[0]!.matchAll(/^\| (\d+) \|[^|]*\| `(\w+)` \|/gm);
    found.push(Object.fromEntries([...rows].map((row) => [row[2]!, Number(row[1])])));
  }
  return found;
}

test('[LOG17] every table of offsets in the document is the one in the code', () => {
  expect(tables()).toEqual([SEGMENT, INDEX, RECORD, ENTRY, RANGE, MARKER_BODY, SLOT]);
});

test('[LOG17] the sizes and numbers the document names are those of the code', () => {
  for (const magic of [SEGMENT_MAGIC, RECORD_MAGIC, SLOT_MAGIC]) {
    expect(text).toContain(`0x${magic.toString(16)}`);
  }
  expect(text).toContain(`at most ${INDEX_ENTRIES_MAX}`);
  expect(text).toContain(`the entries, ${INDEX_ENTRY_BYTES} bytes each`);
  expect(text).toContain(`The entry of a page is ${ENTRY_HEADER_BYTES} bytes`);
  expect(text).toContain(`at bytes 0 and ${SLOT_STRIDE_BYTES}`);
  expect(text).toContain(`over bytes 8 to ${SLOT_BYTES - 1}`);
  expect(text).toContain(`From byte ${TABLE_OFFSET.toLocaleString('en')} on`);
});

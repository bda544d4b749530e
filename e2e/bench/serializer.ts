// How fast values become bytes and back, beside V8's own serializer in the same process.
//
// Each figure is the best of several rounds, in microseconds, in which the two take turns; the last
// columns are ours by V8's.
// Run: npx tsx e2e/bench/serializer.ts

import { Deserializer, Serializer } from 'node:v8';
import { deserialize } from '../../src/shared/values/decode.ts';
import { serialize } from '../../src/shared/values/encode.ts';

const ROUNDS = 7;
const ROUND_MS = 60;

const values: Readonly<Record<string, unknown>> = {
  'number 42': 42,
  'string of 20': 'a string of 20 chars',
  'small object': { id: 123, name: 'hello world', ok: true, tags: ['a', 'b'], n: 1.5 },
  '10 KB of rows': {
    rows: Array.from({ length: 75 }, (_, i) => ({
      id: i,
      uuid: `0190a-${i * 7919}`,
      title: `Some title number ${i}`,
      price: i * 1.25,
      active: i % 2 === 0,
      tags: ['alpha', 'beta'],
      nested: { x: i, y: null },
    })),
  },
  '1000 doubles': Array.from({ length: 1000 }, (_, i) => i * 1.5),
  '1000 small integers': Array.from({ length: 1000 }, (_, i) => i % 100),
  'Map of 500': new Map(Array.from({ length: 500 }, (_, i) => [`key${i}`, i])),
  '1000 empty objects': Array.from({ length: 1000 }, () => ({})),
  'ASCII text, 100 KB': 'The quick brown fox. '.repeat(5000),
  'Latin-1 text, 10 KB': 'Größe und Maß. '.repeat(700),
  'UTF-16 text, 20 KB': 'Привет, мир! '.repeat(800),
  'Uint8Array, 100 KB': new Uint8Array(100 * 1024).map((_, i) => i * 31),
};

for (const [name, value] of Object.entries(values)) {
  const bytes = serialize(value);
  const [encode, nativeEncode] = bestMicroseconds(
    () => serialize(value),
    () => nativeSerialize(value),
  );
  const [decode, nativeDecode] = bestMicroseconds(
    () => deserialize(bytes),
    () => nativeDeserialize(bytes),
  );
  const cells = [encode, nativeEncode, decode, nativeDecode].map((cell) => cell.toFixed(2));
  const ratios = [encode / nativeEncode, decode / nativeDecode].map((ratio) => ratio.toFixed(2));
  console.log(
    name.padEnd(22),
    `${bytes.length} B`.padStart(9),
    `encode ${cells[0]} (V8 ${cells[1]})`.padEnd(28),
    `decode ${cells[2]} (V8 ${cells[3]})`.padEnd(28),
    `ratio ${ratios.join(' ')}`,
  );
}

function nativeSerialize(value: unknown): Buffer {
  const serializer = new Serializer();
  serializer.writeHeader();
  serializer.writeValue(value);
  return serializer.releaseBuffer();
}

function nativeDeserialize(bytes: Uint8Array): unknown {
  const deserializer = new Deserializer(bytes);
  deserializer.readHeader();
  return deserializer.readValue();
}

function bestMicroseconds(ours: () => unknown, theirs: () => unknown): [number, number] {
  const best: [number, number] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let round = 0; round < ROUNDS; round++) {
    best[0] = Math.min(best[0], roundMicroseconds(ours));
    best[1] = Math.min(best[1], roundMicroseconds(theirs));
  }
  return best;
}

function roundMicroseconds(run: () => unknown): number {
  const start = performance.now();
  let count = 0;
  let now = start;
  for (; now - start < ROUND_MS; now = performance.now()) {
    for (let i = 0; i < 20; i++) run();
    count += 20;
  }
  return ((now - start) / count) * 1000;
}

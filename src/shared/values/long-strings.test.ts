// Tests that long strings have the same bytes and text in Node, where Buffer converts them, and in browsers without it.

import { expect, test, vi } from 'vitest';

type Serializer = typeof import('./encode.ts') & typeof import('./decode.ts');

async function load(): Promise<Serializer> {
  vi.resetModules();
  return { ...(await import('./encode.ts')), ...(await import('./decode.ts')) };
}

async function loadWithoutBuffer(): Promise<Serializer> {
  vi.stubGlobal('Buffer', undefined);
  try {
    return await load();
  } finally {
    vi.unstubAllGlobals();
  }
}

const inNode = await load();
const inBrowser = await loadWithoutBuffer();

const LENGTHS = [1, 24, 25, 63, 64, 65, 127, 128, 4095, 4096, 4097, 20_000];
const ALPHABETS = {
  ascii: 'abc xyz',
  'Latin-1': 'aé\x80\x9fÿ\0',
  wide: 'aéЖ漢',
  'surrogates, alone and in pairs': '\ud83d\ude00\ud800a\udfff\ufeff',
};

for (const [name, alphabet] of Object.entries(ALPHABETS)) {
  test(`[VAL4] long strings are the same bytes with and without a Buffer: ${name}`, {
    tags: 'long',
  }, () => {
    for (const length of LENGTHS) {
      // One byte before it, or none: two-byte characters are padded to an even place.
      for (const before of ['', 'x']) {
        let text = '';
        for (let i = 0; i < length; i++) text += alphabet[(i * 7 + length) % alphabet.length];
        const bytes = inBrowser.serialize([before, text]);
        expect(inNode.serialize([before, text])).toEqual(bytes);
        const moved = new Uint8Array(bytes.length + 1);
        moved.set(bytes, 1);
        for (const { deserialize } of [inNode, inBrowser]) {
          expect(deserialize(bytes)).toEqual([before, text]);
          expect(deserialize(moved.subarray(1))).toEqual([before, text]);
        }
      }
    }
  });
}

// What a record takes where bytes move within an object's pages, and where they are replaced.

import { expect, test } from 'vitest';
import { noise, openLog, put, TestEnvironment } from '../../../packages/testing/worker/test-log.ts';
import { MemoryDirectory } from '../file/memory-file.ts';

/** A text of words that hardly repeat. */
function textOf(length: number, seed: number): string {
  let text = '';
  for (let i = seed; text.length < length; i++) text += `${(i * 7919 + seed).toString(36)} `;
  return text.slice(0, length);
}

/** Saves values, each as a durable commit, and returns the bytes of each one's record. */
async function saved(values: readonly (string | Uint8Array)[]): Promise<number[]> {
  const environment = new TestEnvironment();
  const { files, db, close } = await openLog(new MemoryDirectory(), environment);
  for (const value of values) {
    put(db, 1, value);
    environment.nowMs += 1000;
    await files.flush();
  }
  const range = { fromMs: 0, toMs: environment.nowMs, before: null, limit: values.length };
  const commits = await files.listCommits(range);
  await close();
  return commits.map(({ bytes }) => bytes).reverse();
}

const mean = (numbers: readonly number[]) =>
  numbers.reduce((sum, number) => sum + number, 0) / numbers.length;

/** A text of 20 KB, and how it was after each word that was typed into it. */
function typed(words: number): string[] {
  const texts = [textOf(20_000, 1)];
  for (let i = 1; i < words; i++) {
    const last = texts.at(-1)!;
    const at = (i * 7907) % last.length;
    texts.push(`${last.slice(0, at)}word${i} ${last.slice(at)}`);
  }
  return texts;
}

test('[LOG34] a word that is typed into a text of 20 KB takes 600 bytes, where both texts would take 40,000', async () => {
  const bytes = await saved(typed(600));
  expect(mean(bytes.slice(10))).toBeLessThan(600);
});

test('[LOG34] a value that is replaced by a wholly different one takes both, and so does the next', async () => {
  const bytes = await saved(Array.from({ length: 40 }, (_, i) => noise(i + 1, 20_000)));
  for (const each of bytes.slice(2)) {
    expect(each).toBeGreaterThan(39_000);
    expect(each).toBeLessThan(42_000);
  }
});

test('[LOG34] after values that gained nothing, a text gains again at the latest with its 33rd save', async () => {
  const values = Array.from({ length: 100 }, (_, i) => noise(i + 1, 20_000));
  const bytes = await saved([...values, ...typed(80)]);
  const texts = bytes.slice(values.length);
  const first = texts.findIndex((each) => each < 1000);
  expect(first).toBeGreaterThan(0);
  expect(first).toBeLessThan(40);
  expect(mean(texts.slice(first))).toBeLessThan(1500);
});

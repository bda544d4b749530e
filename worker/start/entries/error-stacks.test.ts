// Tests that the stacks of errors name the line of the author's code.

import { expect, test } from 'vitest';
import { createObjects, DurableObject } from './node-objects.ts';

class Notes extends DurableObject {
  async find(text: string): Promise<string[]> {
    return framesOf(() => findNote(this.ctx.storage.sql, text));
  }

  async findPatched(): Promise<string[]> {
    const { sql } = this.ctx.storage;
    const { exec } = sql;
    const patched = (text: string) => exec.call(sql, text);
    return framesOf(() => findNote({ exec: patched }, 'SELECT * FROM missing'));
  }

  async convert(): Promise<string[]> {
    const text = { toString: failingText } as unknown as string;
    return framesOf(() => findNote(this.ctx.storage.sql, text));
  }
}

function findNote(sql: { exec(text: string): unknown }, text: string): unknown {
  return sql.exec(text);
}

function failingText(): string {
  throw new Error('of the program');
}

/** Returns the functions that V8 writes into the stack of the error that the task throws. */
function framesOf(task: () => unknown): string[] {
  try {
    task();
  } catch (error) {
    const { stack = '', message } = error as Error;
    expect(stack.startsWith(`Error: ${message}\n`)).toBe(true);
    return [...stack.matchAll(/^ +at (?:async )?(\S+)/gm)].map(([, name]) => name!);
  }
  throw new Error('it did not fail');
}

test.each([
  'SELECT * FROM missing',
  'SELECT 1; SELECT * FROM missing',
  "INSERT INTO note VALUES (1, 'a'), (1, 'b')",
])('[ERR7] %s: the stack begins with the function that called exec', async (text) => {
  const { env, close } = await createObjects({ Notes });
  try {
    const notes = env.Notes.getByName('a');
    await notes.find('CREATE TABLE note (id PRIMARY KEY, body)').catch(() => {});
    expect((await notes.find(text))[0]).toBe('findNote');
  } finally {
    await close();
  }
});

test('[ERR7] also through a function in the place of exec; an error of the program keeps its own', async () => {
  const { env, close } = await createObjects({ Notes });
  try {
    const notes = env.Notes.getByName('a');
    const patched = await notes.findPatched();
    expect(patched).toContain('findNote');
    expect(patched[0]).toMatch(/patched$/);
    expect((await notes.convert())[0]).toMatch(/failingText$/);
  } finally {
    await close();
  }
});

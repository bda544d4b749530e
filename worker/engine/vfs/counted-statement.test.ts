import { expect, test } from 'vitest';
import { CountedStatement } from './sqlite-module.ts';

test('[SQL14] the module is told of another statement once, and of none before its address is free', () => {
  const told: number[] = [];
  const global = {
    set value(statement: number) {
      told.push(statement);
    },
  };
  const counted = new CountedStatement(global as WebAssembly.Global<'i32'>);
  counted.count(8);
  counted.count(8);
  counted.count(16);
  counted.forget(8);
  expect(told).toEqual([8, 16]);
  counted.forget(16);
  counted.forget(16);
  expect(told).toEqual([8, 16, 0]);
  // The next statement at that address is another one.
  counted.count(16);
  expect(told).toEqual([8, 16, 0, 16]);
});

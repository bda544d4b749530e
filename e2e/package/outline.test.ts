// The outline of the playground: the methods of a class that are called by hand, and the values that they take.

import { expect, test } from 'vitest';
import { outlineOf } from '../../demo/playground/outline.ts';

const CODE = `
  export class Stock extends DurableObject {
    constructor(ctx: DurableObjectState, env: object) { super(ctx, env); }
    receive(name = 'tea', count = 10): number { return 1; }
    sell(name: string, count: number, { loud }: Options, note?: string, ...rest: number[]) {}
    price(name, value = -1.5, factor = 2, text = \`a\`, list: number[] = [1]) {}
    static make(name: string) {}
    private hide(count: number) {}
    fetch(request: Request) {}
  }`;

test('[DEMO3] a parameter takes numbers or text by its type, else by its default', () => {
  const methods = Object.fromEntries(
    outlineOf('main.ts', CODE).flatMap((one) =>
      one.methods.map(({ name, parameters }) => [
        name,
        parameters.map(({ label, kind }) => `${label}: ${kind}`),
      ]),
    ),
  );
  expect(methods).toEqual({
    receive: ['name: text', 'count: number'],
    sell: ['name: text', 'count: number', '{ loud }: any', 'note: text', '...rest: any'],
    price: ['name: any', 'value: any', 'factor: number', 'text: any', 'list: any'],
  });
});

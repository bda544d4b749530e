// Tests how a request's body is read in browsers that show no stream of it.

import { expect, test } from 'vitest';
import { bodyOf } from './body.ts';

/** Makes a request as Firefox shows it: its body can be read, but not as a stream. */
function withoutStream(body: string): Request {
  const request = new Request('https://api.example/zones', { method: 'POST', body });
  Object.defineProperty(request, 'body', { value: undefined });
  return request;
}

test('[MG4] a body is read where requests show no stream of it', async () => {
  expect(await bodyOf(withoutStream('{"name":"a.example"}'))).toEqual({ name: 'a.example' });
  expect(await bodyOf(withoutStream(''))).toBeUndefined();
});

test('[MG4] a body that shows no stream has the same bound: 1 MiB is read, a byte more is not', async () => {
  const text = 'x'.repeat(1_048_574);
  expect(await bodyOf(withoutStream(`"${text}"`))).toBe(text);
  await expect(bodyOf(withoutStream(`"${text}x"`))).rejects.toMatchObject({ status: 413 });
});

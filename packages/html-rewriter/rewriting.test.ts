// Rewrites random documents in chunks of random sizes, and documents that are made to take much time or memory.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type * as contract from '../../src/shared/contract/html-rewriter.ts';
import { HTMLRewriter } from './html-rewriter.ts';

/** The pieces of HTML from which random documents are made, together with random bytes. */
const PIECES = [
  ...['<a>', '</a>', '<b x="1" Y=\'2\' z=3>', '<p', '>', '</p >', '<br/>', '<!--', '-->', '--!>'],
  ...['<!', '<?', '</', '<', '<!doctype html>', '<script>', '</script>', '<!--<script>', '<style>'],
  ...['</style>', '<title>', '</title>', '<svg>', '</svg>', '<![CDATA[', ']]>', '<math><mi>'],
  ...['</mi>', '"', "'", '=', ' ', 'text', '&amp;', 'é', '😀'],
];

const encoder = new TextEncoder();
const document = fc
  .array(
    fc.oneof(
      { weight: 9, arbitrary: fc.constantFrom(...PIECES).map((piece) => encoder.encode(piece)) },
      { weight: 1, arbitrary: fc.uint8Array({ maxLength: 4 }) },
    ),
    { maxLength: 60 },
  )
  .map((pieces) => new Uint8Array(pieces.flatMap((piece) => [...piece])));
const sizes = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 5 });

/** Makes a response whose body gives the bytes in chunks of these sizes, which repeat. */
function inChunks(bytes: Uint8Array<ArrayBuffer>, chunkSizes: readonly number[]): Response {
  let at = 0;
  let count = 0;
  return new Response(
    new ReadableStream({
      pull(controller) {
        if (at >= bytes.byteLength) {
          controller.close();
          return;
        }
        const size = chunkSizes[count++ % chunkSizes.length]!;
        controller.enqueue(bytes.slice(at, at + size));
        at += size;
      },
    }),
  );
}

/** Reads the chunks of a response. Returns the message of its error if it fails. */
async function chunksOf({ body }: Response): Promise<Uint8Array[] | string> {
  const chunks: Uint8Array[] = [];
  try {
    const reader = body!.getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return chunks;
      chunks.push(value);
    }
  } catch (error) {
    return (error as Error).message;
  }
}

async function bytesOf(response: Response): Promise<number[] | string> {
  const chunks = await chunksOf(response);
  return typeof chunks === 'string' ? chunks : chunks.flatMap((chunk) => [...chunk]);
}

/**
 * Makes a rewriter whose handlers change elements, comments and text. They join the chunks of a text, which depend on
 * the input.
 */
function changingRewriter(): HTMLRewriter {
  let text = '';
  return new HTMLRewriter()
    .on('a, p > b', {
      element(element) {
        element.setAttribute('n', element.tagName).append('[a]').after('[after]');
        element.removeAttribute('x');
      },
    })
    .on('b', {
      element: (element) => void element.onEndTag((tag) => void tag.before('[end]')),
      comments: (comment) => void comment.replace(`[${comment.text}]`),
    })
    .on('p:nth-child(2n)', {
      element: (element) => void element.setInnerContent('<i>', { html: true }),
    })
    .on('svg *', { element: (element) => void element.removeAndKeepContent() })
    .onDocument({
      text(chunk) {
        text += chunk.text;
        chunk.remove();
        if (!chunk.lastInTextNode) return;
        chunk.after(`(${text})`);
        text = '';
      },
      end: (end) => void end.append('[end of the document]'),
    });
}

describe('bytes', () => {
  test('[HTML3] pass unchanged if no handler sees them, whatever they are and however they are cut', () =>
    fc.assert(
      fc.asyncProperty(document, sizes, async (bytes, chunkSizes) => {
        const unmatched = new HTMLRewriter().on('none', { element: () => {}, text: () => {} });
        const seen = await bytesOf(unmatched.transform(inChunks(bytes, chunkSizes)));
        expect(seen).toEqual([...bytes]);
      }),
      { numRuns: 300 },
    ));

  test('[HTML3] pass unchanged if handlers only read elements, comments and doctypes', () =>
    fc.assert(
      fc.asyncProperty(document, sizes, async (bytes, chunkSizes) => {
        const looking = new HTMLRewriter()
          .on('*', {
            element: (element) => void [...element.attributes],
            comments: ({ text }) => void text,
          })
          .onDocument({ doctype: ({ name }) => void name, end: () => {} });
        const seen = await bytesOf(looking.transform(inChunks(bytes, chunkSizes)));
        expect(seen).toEqual([...bytes]);
      }),
      { numRuns: 300 },
    ));

  test('[HTML3] become the same by handlers in one chunk and in many', { tags: 'long' }, () =>
    fc.assert(
      fc.asyncProperty(document, sizes, async (bytes, chunkSizes) => {
        const whole = await bytesOf(
          changingRewriter().transform(inChunks(bytes, [bytes.byteLength + 1])),
        );
        const cut = await bytesOf(changingRewriter().transform(inChunks(bytes, chunkSizes)));
        expect(cut).toEqual(whole);
      }),
      { numRuns: 300 },
    ),
  );
});

/** Rewrites a document without changes. Returns the number of bytes in the result, or the message of its error. */
async function passedBytes(html: string, chunkSize = 65_536): Promise<number | string> {
  const nothing = { element: () => {}, text: () => {} };
  const rewriter = new HTMLRewriter().on('none, a b > c:nth-of-type(2)', nothing);
  const chunks = await chunksOf(rewriter.transform(inChunks(encoder.encode(html), [chunkSize])));
  if (typeof chunks === 'string') return chunks;
  return chunks.reduce((sum, { byteLength }) => sum + byteLength, 0);
}

describe('hostile documents', () => {
  const many = 16_000;
  // If the time were quadratic in the bytes, each of these documents would take minutes.
  test.for([
    ['an attribute that does not end, byte by byte', `<a b="${'c'.repeat(100_000)}`, 1],
    ['a comment that does not end, byte by byte', `<!--${'-'.repeat(100_000)}`, 1],
    ['attributes without number', `<a ${'b '.repeat(300_000)}>`, 65_536],
    ['tags that do not end', '<a '.repeat(300_000), 65_536],
    ['scripts that do not end', '<script><!--'.repeat(100_000), 65_536],
    ['end tags without elements', '<i>'.repeat(many) + '</b>'.repeat(200_000), 65_536],
    [
      'end tags that close nothing in SVG',
      `<svg><desc><i><p>${'<b>'.repeat(many)}${'</i>'.repeat(200_000)}`,
      65_536,
    ],
    ['elements that open and close', '<a><b><c></c></b></a>'.repeat(30_000), 65_536],
  ] as const)('[HTML4] %s', { tags: 'long' }, async ([, html, chunkSize]) => {
    expect(await passedBytes(html, chunkSize)).toBe(html.length);
  });

  test('[HTML4] a handler that reads, sets and removes each of 30,000 attributes', async () => {
    const names = Array.from({ length: 30_000 }, (_, count) => `a${count}`);
    const html = `<p ${names.map((name) => `${name}=${name}`).join(' ')} A0=second>`;
    let wrong = 0;
    const element = (tag: contract.Element) => {
      for (const name of names) {
        if (tag.getAttribute(name.toUpperCase()) !== name || !tag.hasAttribute(name)) wrong += 1;
        if (tag.getAttribute(`no-${name}`) !== null) wrong += 1;
        tag.setAttribute(`new-${name}`, name);
      }
      for (const name of names) {
        if (name !== 'a1') tag.removeAttribute(name);
        if (name !== 'a2') tag.removeAttribute(`new-${name}`);
      }
      tag.setAttribute('a0', 'last');
    };
    const chunks = await chunksOf(
      new HTMLRewriter().on('p', { element }).transform(new Response(html)),
    );
    expect(Buffer.concat(chunks as Uint8Array[]).toString()).toBe(
      '<p a1=a1 new-a2="a2" a0="last">',
    );
    expect(wrong).toBe(0);
  });

  test('[HTML5] a tag, comment or doctype of more than 3 MiB is an error, text of any size is not', async () => {
    const long = 'x'.repeat(3 * 1024 * 1024);
    for (const start of ['<a ', '<!--', '<!doctype ']) {
      expect(await passedBytes(start + long.slice(start.length))).toBe(long.length);
      expect(await passedBytes(start + long)).toMatch(/memory limit.* more than 3145728 bytes/);
    }
    expect(await passedBytes(`<a>${long}`)).toBe(3 + long.length);
  });

  test('[HTML5] more than 16,384 open elements are an error, those of SVG without handlers too', async () => {
    const refusal = /more than 16384 elements are open/;
    expect(await passedBytes('<i>'.repeat(16_384))).toBe(3 * 16_384);
    expect(await passedBytes('<i>'.repeat(16_385))).toMatch(refusal);
    for (const html of ['<svg>'.repeat(16_385), `<svg><desc>${'<i>'.repeat(16_385)}`]) {
      expect(await chunksOf(new HTMLRewriter().transform(new Response(html)))).toMatch(refusal);
    }
  });
});

test('[HTML5] more than 65,536 names of children are an error, if a selector counts them', {
  tags: 'long',
}, async () => {
  const html = Array.from({ length: 65_537 }, (_, i) => `<a${i}></a${i}>`).join('');
  expect(await passedBytes(html)).toMatch(/more than 65536 names/);
  const uncounted = new HTMLRewriter().on('a', {}).transform(new Response(html));
  expect(await chunksOf(uncounted)).not.toBeTypeOf('string');
});

describe('the body', () => {
  test('[HTML7] output leaves before a handler that waits has settled', async () => {
    let proceed = () => {};
    const waiting = new Promise<void>((resolve) => {
      proceed = resolve;
    });
    const rewriter = new HTMLRewriter().on('b', { element: () => waiting });
    const reader = rewriter.transform(new Response('<a>first</a><b>')).body!.getReader();
    const next = async () => new TextDecoder().decode((await reader.read()).value);
    expect(await next()).toBe('<a>first</a>');
    proceed();
    expect(await next()).toBe('<b>');
    expect((await reader.read()).done).toBe(true);
  });

  test('[HTML7] a reader that leaves cancels the body, and no further handler runs', async () => {
    let count = 0;
    let reader!: ReadableStreamDefaultReader;
    const reason = await new Promise<unknown>((resolve) => {
      const body = new ReadableStream({
        pull: (controller) => controller.enqueue(encoder.encode('<a>'.repeat(1000))),
        cancel: resolve,
      });
      const rewriter = new HTMLRewriter().on('a', { element: async () => void count++ });
      reader = rewriter.transform(new Response(body)).body!.getReader();
      void reader.read().then(() => reader.cancel(new RangeError('enough')));
    });
    expect(reason).toBeInstanceOf(Error);
    const countAtCancel = count;
    await new Promise((resolve) => setTimeout(resolve));
    expect(count).toBe(countAtCancel);
    expect(count).toBeLessThan(1000); // the rest of the chunk has no further handlers
  });
});

// Questions about `HTMLRewriter`: end tags, other tokens, streams, errors and limits; and all questions together.

import {
  arriving,
  events,
  failure,
  given,
  inElement,
  onElement,
  read,
  rewritten,
} from './html-answers.ts';
import { ELEMENTS } from './html-elements.ts';
import { PARSING } from './html-parsing.ts';
import { locally, refusal, scope, type Untyped, within } from './surface-answers.ts';

type Questions = Readonly<Record<string, () => unknown>>;

const HTML = { html: true };
const pause = (ms = 1) => new Promise((resolve) => setTimeout(resolve, ms));
const streamOf = (...parts: readonly string[]) => arriving(parts).body;
const rewriter = () => new scope.HTMLRewriter();

const DOCUMENTS: Questions = {
  'end tags': () =>
    Promise.all([
      onElement('<a>t</a>u', 'a', (e) => e.onEndTag((tag: Untyped) => tag.before('1').after('2'))),
      onElement('<a>t</a>u', 'a', (e) => e.onEndTag((tag: Untyped) => tag.remove())),
      onElement('<a>t</a>u', 'a', (e) => e.onEndTag((tag: Untyped) => tag.before('<', HTML))),
      onElement('<a>t</A >u', 'a', (e) =>
        e.onEndTag((tag: Untyped) => {
          tag.after(tag.name);
          tag.name = 'Q';
        }),
      ),
      onElement('<a>t</a>u', 'a', (e) => {
        e.append('1').after('2');
        e.onEndTag((tag: Untyped) => tag.before('3').after('4'));
      }),
      onElement('<a>t</a>u', 'a', (e) => {
        e.onEndTag((tag: Untyped) => tag.before('1'));
        e.onEndTag((tag: Untyped) => tag.before('2'));
      }),
      onElement('<a>t</a>u', 'a', (e) =>
        e.onEndTag(async (tag: Untyped) => {
          await pause();
          tag.before('late');
        }),
      ),
      rewritten('<a>t</a>u', (made) =>
        made
          .on('a', { element: (e: Untyped) => e.onEndTag((tag: Untyped) => tag.before('1')) })
          .on('*', { element: (e: Untyped) => e.onEndTag((tag: Untyped) => tag.before('2')) }),
      ),
    ]),
  'end tags: that are missing': async () => {
    const seen: string[] = [];
    const text = await rewritten('<i><a>t<b></i>u<a>', (made) =>
      made.on('*', {
        element: (e: Untyped) => {
          const { tagName } = e;
          e.onEndTag((tag: Untyped) => {
            seen.push(`${tagName} by ${tag.name}`);
            tag.before(tagName);
          });
        },
      }),
    );
    return [seen, text];
  },
  'end tags: of elements that have none': () =>
    Promise.all([
      onElement('<br>', 'br', (e) => e.onEndTag(() => {})),
      onElement('<svg><a/></svg>', 'a', (e) => e.onEndTag(() => {})),
      inElement('<a>', [(e) => e.onEndTag(), (e) => e.onEndTag(1)]),
    ]),
  'end tags: inside of what is removed': () =>
    onElement('<a>t</a>u', 'a', (e) => {
      e.remove();
      e.onEndTag((tag: Untyped) => tag.before('1').after('2'));
    }),
  'comments: each call': () => {
    const on = (comments: (comment: Untyped) => unknown) =>
      rewritten('<a><!-- c --></a>', (made) => made.on('a', { comments }));
    return Promise.all([
      on((comment) => comment.before('<').after('>')),
      on((comment) => comment.before('1').before('2').after('3').after('4')),
      on((comment) => comment.replace('<x>')),
      on((comment) => comment.replace('<x>', HTML).after(comment.removed)),
      on((comment) => comment.remove().after(comment.removed)),
      on((comment) => {
        comment.text = `[${comment.text}]`;
      }),
      on((comment) => {
        comment.text = 'a --> b';
      }),
      on((comment) => {
        comment.text = '>';
      }),
      on((comment) => comment.replace(streamOf('x'))),
    ]);
  },
  'text: each call': () => {
    const on = (call: (chunk: Untyped) => unknown) =>
      rewritten('<a>t &amp; u</a>', (made) =>
        made.on('a', { text: (chunk: Untyped) => void (chunk.text && call(chunk)) }),
      );
    return Promise.all([
      on((chunk) => chunk.before('<').after('>')),
      on((chunk) => chunk.before('1').before('2').after('3').after('4')),
      on((chunk) => chunk.replace(chunk.text.toUpperCase())),
      on((chunk) => chunk.replace('<b>', HTML).after(chunk.removed)),
      on((chunk) => chunk.remove().after(chunk.removed)),
      on((chunk) =>
        chunk.after(
          refusal(() => {
            chunk.text = 'x';
          }),
        ),
      ),
    ]);
  },
  'text: the last chunk of a node': async () => {
    const seen: unknown[] = [];
    const text = await rewritten(['<a>on', 'e</a>two', '<!-- -->', 'three'], (made) =>
      made.onDocument({
        text: (chunk: Untyped) => {
          seen.push([chunk.text, chunk.lastInTextNode]);
          if (chunk.lastInTextNode) chunk.after('|');
        },
      }),
    );
    return [seen, text];
  },
  'text: a character in two parts': async () => {
    const bytes = new TextEncoder().encode('<a>é€😀</a>');
    const parts = [...bytes].map((byte) => new Uint8Array([byte]));
    let text = '';
    const body = new ReadableStream({
      pull(controller) {
        const part = parts.shift();
        if (part === undefined) controller.close();
        else controller.enqueue(part);
      },
    });
    const made = rewriter().on('a', { text: (chunk: Untyped) => void (text += chunk.text) });
    return [await read(made.transform(new Response(body))), text];
  },
  'text: bytes that are not UTF-8': async () => {
    const bytes = new Uint8Array([60, 97, 32, 255, 62, 120, 255, 60, 47, 97, 62, 254]);
    const hex = async (made: Untyped) => [
      ...new Uint8Array(await made.transform(new Response(bytes)).arrayBuffer()),
    ];
    const seen: unknown[] = [];
    return [
      await hex(rewriter()),
      await hex(rewriter().on('a', { element: (e: Untyped) => void seen.push([...e.attributes]) })),
      await hex(rewriter().on('a', { text: (chunk: Untyped) => void seen.push(chunk.text) })),
      seen,
    ];
  },
  'the doctype': async () => {
    const seen: unknown[] = [];
    for (const html of [
      '<!doctype html>',
      '<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 4.01//EN" \'about:legacy\'>',
      '<!doctype html system "x">',
      '<!doctype>',
      '<!doctypehtml>',
      '<!doctype html bogus>',
      '<!doctype html public>',
      '<!doctype html public "a>b">',
      '<!doctype',
    ]) {
      seen.push(await events(html));
    }
    return seen;
  },
  'the end of the document': () =>
    Promise.all([
      rewritten('<a>', (made) =>
        made.onDocument({ end: (end: Untyped) => end.append('1').append('<2>', HTML).append('<') }),
      ),
      rewritten('', (made) => made.onDocument({ end: (end: Untyped) => end.append('1') })),
      rewritten('<a>t', (made) =>
        made
          .onDocument({ end: (end: Untyped) => end.append('1') })
          .onDocument({ end: (end: Untyped) => end.append('2') }),
      ),
    ]),
  'errors: thrown by a handler': async () => {
    class Own extends Error {}
    const throwing = (error: unknown) =>
      onElement('<i>before</i><a>', 'a', () => {
        throw error;
      });
    return [
      await throwing(new RangeError('out of it')),
      await throwing(new Own('own')),
      await rewritten('<a>t</a>', (made) =>
        made.on('a', { text: () => Promise.reject(new TypeError('rejected')) }),
      ),
      await rewritten('<a>t</a>', (made) =>
        made.onDocument({
          end() {
            throw new Error('at the end');
          },
        }),
      ),
    ];
  },
  'errors: a text that is thrown': () =>
    onElement('<a>', 'a', () => {
      throw 'text';
    }),
  'errors: no handler runs after one': async () => {
    const seen: string[] = [];
    const text = await onElement('<a id=1><a id=2>', 'a', (e) => {
      seen.push(e.getAttribute('id'));
      throw new Error('first');
    });
    return [seen, text];
  },
  'errors: of the body': async () => {
    const body = new ReadableStream({
      pull(controller) {
        controller.error(new RangeError('the body'));
      },
    });
    return locally(read(rewriter().on('a', {}).transform(new Response(body))));
  },
  'responses: status and headers': async () => {
    const headers = { 'content-type': 'text/html', 'x-own': 'kept' };
    const response = new Response('<a>t</a>', { status: 404, statusText: 'Gone', headers });
    const result = rewriter()
      .on('a', { element: (e: Untyped) => e.append('long') })
      .transform(response);
    return [
      result === response,
      result.status,
      result.statusText,
      [...result.headers],
      response.bodyUsed,
      await result.text(),
    ];
  },
  'responses: the length': () =>
    rewriter()
      .transform(new Response('<a>', { headers: { 'content-length': '3' } }))
      .headers.get('content-length'),
  'responses: without a body': () => {
    const response = new Response(null, { status: 204 });
    return rewriter().on('a', {}).transform(response) === response;
  },
  'responses: used before': async () => {
    const response = new Response('<a>');
    await response.text();
    return given(() => rewriter().transform(response));
  },
  'responses: with an empty body': async () =>
    rewritten('', (made) => made.on('a', { element: () => {} })),
  'responses: a rewriter used twice': async () => {
    let count = 0;
    const made = rewriter().on('a', { element: (e: Untyped) => e.setAttribute('n', ++count) });
    return [
      await read(made.transform(arriving('<a>'))),
      await read(made.transform(arriving('<a>'))),
    ];
  },
  'responses: one rewriter after another': () =>
    read(
      rewriter()
        .on('b', { element: (e: Untyped) => e.append('2') })
        .transform(
          rewriter()
            .on('a', { element: (e: Untyped) => e.append('<b></b>', HTML) })
            .transform(arriving('<a></a>')),
        ),
    ),
  'responses: handlers added after transform': async () => {
    const made = rewriter();
    const result = made.transform(arriving('<a>'));
    made.on('a', { element: (e: Untyped) => e.after('x') });
    return read(result);
  },
  'responses: a clone': async () => {
    const result = rewriter()
      .on('a', { element: (e: Untyped) => e.append('x') })
      .transform(arriving('<a></a>'));
    const clone = result.clone();
    return [await result.text(), await clone.text()];
  },
  'encodings: of the content type': async () => {
    const bytes = new Uint8Array([60, 97, 32, 104, 61, 228, 62, 246, 60, 47, 97, 62]);
    const answers: unknown[] = [];
    for (const charset of [
      'utf-8',
      'UTF8',
      'iso-8859-1',
      'windows-1252',
      'nonsense',
      'utf-16le',
      'shift_jis',
    ]) {
      const headers = { 'content-type': `text/html; charset=${charset}` };
      const seen: unknown[] = [];
      try {
        const result = rewriter()
          .on('a', {
            element: (e: Untyped) => {
              seen.push(e.getAttribute('h'));
              e.append('ü€');
            },
            text: (chunk: Untyped) => void (chunk.text && seen.push(chunk.text)),
          })
          .transform(new Response(bytes, { headers }));
        answers.push(charset, seen, [...new Uint8Array(await result.arrayBuffer())]);
      } catch (error) {
        answers.push(charset, failure(error));
      }
    }
    return answers;
  },
  'limits: a tag of 4 MB in parts': () => {
    const part = 'x'.repeat(65536);
    return onElement(['<a ', ...Array(64).fill(part), '>'], 'a', () => {}).then((text) =>
      text.length > 1000 ? text.length : text,
    );
  },
  'limits: a tag of 2 MB in parts': () => {
    const part = 'x'.repeat(65536);
    return onElement(['<a ', ...Array(32).fill(part), '>'], 'a', () => {}).then((text) =>
      text.length > 1000 ? text.length : text,
    );
  },
  'limits: elements that are open': async () => {
    const deep = async (depth: number) => {
      const text = await onElement('<i>'.repeat(depth), 'a', () => {});
      return text.length > 1000 ? text.length : text;
    };
    return [await deep(16_384), (await deep(16_385)).toString().slice(0, 59)];
  },
  'limits: text of 4 MB in parts': async () => {
    let count = 0;
    const part = 'x'.repeat(65536);
    const text = await rewritten(['<a>', ...Array(64).fill(part), '</a>'], (made) =>
      made.on('a', { text: (chunk: Untyped) => void (count += chunk.text.length) }),
    );
    return [count, text.length];
  },
};

export async function htmlRewriterAll(): Promise<Record<string, unknown>> {
  const answers: Record<string, unknown> = {};
  for (const [question, ask] of Object.entries({ ...ELEMENTS, ...DOCUMENTS, ...PARSING })) {
    try {
      answers[question] = await within(Promise.resolve(ask()));
    } catch (error) {
      answers[question] = failure(error);
    }
  }
  return answers;
}

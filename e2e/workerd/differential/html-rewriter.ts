// Questions about `HTMLRewriter`: its calls, its content, its streams and errors.

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
import { PARSING } from './html-parsing.ts';
import { locally, names, refusal, scope, type Untyped, within } from './surface-answers.ts';

type Questions = Readonly<Record<string, () => unknown>>;

const HTML = { html: true };
const pause = (ms = 1) => new Promise((resolve) => setTimeout(resolve, ms));
const streamOf = (...parts: readonly string[]) => arriving(parts).body;
const rewriter = () => new scope.HTMLRewriter();

const CALLS: Questions = {
  'the kinds': async () => {
    const kinds: unknown[] = [names(rewriter()), typeof scope.HTMLRewriter];
    const note = (token: Untyped) => void kinds.push(names(token));
    await rewritten('<!doctype html><a x=1>t</a><!--c-->', (made) =>
      made
        .on('a', {
          element: (element: Untyped) => {
            note(element);
            note(element.attributes);
            element.onEndTag(note);
          },
          text: (chunk: Untyped) => chunk.text && note(chunk),
        })
        .onDocument({ doctype: note, comments: note, end: note }),
    );
    return kinds;
  },
  'calls return the rewriter, or the token': async () => {
    const made = rewriter();
    const seen = [made.on('a', {}) === made, made.onDocument({}) === made];
    await onElement('<a>', 'a', (element) => {
      seen.push(
        element.setAttribute('a', 'b') === element,
        element.removeAttribute('a') === element,
        element.before('x') === element,
        element.remove() === element,
        element.onEndTag(() => {}) === undefined,
      );
    });
    return seen;
  },
  'members that are visible': async () => {
    let seen: unknown[] = [];
    await onElement('<a b=c>', 'a', (element) => {
      seen = [Object.keys(element), 'tagName' in element, 'attributes' in element];
    });
    return seen;
  },
  'without new': () => refusal(() => scope.HTMLRewriter()),
  'wrong arguments': () => [
    given(() => typeof rewriter().on()),
    given(() => typeof rewriter().on('a')),
    given(() => typeof rewriter().on('a', null)),
    given(() => rewriter().on('a', 1)),
    given(() => rewriter().on('a', { element: 1 })),
    given(() => rewriter().on('a', { element: null })),
    given(() => typeof rewriter().on('a', { element: undefined })),
    given(() => rewriter().onDocument()),
    given(() => rewriter().onDocument({ end: 'x' })),
    given(() => rewriter().transform()),
    given(() => rewriter().transform('text')),
    given(() => rewriter().transform(new Request('http://a/'))),
  ],
  'a selector that is not a string': async () => [
    given(() => rewriter().on(null, {}) && 'taken'),
    given(() => rewriter().on(1, {})),
    given(() => rewriter().on({ toString: () => 'a' }, {}) && 'taken'),
  ],
  'handlers are called on their object': async () => {
    const seen: unknown[] = [];
    class Handlers {
      name = 'own';
      element() {
        seen.push(this?.name);
      }
      comments() {
        seen.push(this?.name);
      }
    }
    await rewritten('<a><!--c--></a>', (made) => made.on('a', new Handlers()));
    return seen;
  },
  'the order of handlers': async () => {
    const seen: string[] = [];
    const note = (name: string) => () => void seen.push(name);
    await rewritten('<a><b>t</b></a>', (made) =>
      made
        .onDocument({ text: note('document') })
        .on('b', { element: note('b'), text: note('text of b') })
        .on('a', { element: note('a'), text: note('text of a') })
        .on('*', { element: note('any'), text: note('text of any') }),
    );
    return seen;
  },
  'a handler that waits': async () => {
    const seen: string[] = [];
    const slow = (name: string) => async () => {
      seen.push(`${name} begins`);
      await pause();
      seen.push(`${name} ends`);
    };
    const text = await rewritten('<a>t</a><a>', (made) =>
      made.on('a', { element: slow('one') }).on('a', { element: slow('two') }),
    );
    return [seen, text];
  },
  'a token after an await': () =>
    onElement('<a>t</a>', 'a', async (element) => {
      await pause();
      element.setAttribute('late', 'yes').append('!');
    }),
  'tokens after their handler': async () => {
    const kept: Untyped[] = [];
    await rewritten('<!doctype x><a b=c>t</a><!--c-->', (made) =>
      made
        .on('a', {
          element: (element: Untyped) => {
            kept.push(element, element.attributes);
            element.onEndTag((tag: Untyped) => void kept.push(tag));
          },
          text: (chunk: Untyped) => void (chunk.text && kept.push(chunk)),
        })
        .onDocument({
          doctype: (type: Untyped) => void kept.push(type),
          comments: (comment: Untyped) => void kept.push(comment),
          end: (end: Untyped) => void kept.push(end),
        }),
    );
    return kept.map((token) => [
      token.constructor.name,
      given(() => token.tagName ?? token.text ?? token.name),
      given(() => token.remove?.()),
      given(() => token.append?.('x')),
      given(() => token.next?.()),
    ]);
  },
  'attributes: reading': () =>
    inElement('<a HREF=/x one two="" three=\'"\' Four="a &amp; b" one=again>', [
      (element) => [...element.attributes],
      (element) => element.getAttribute('href'),
      (element) => element.getAttribute('HREF'),
      (element) => element.getAttribute('one'),
      (element) => element.getAttribute('none'),
      (element) => element.getAttribute(''),
      (element) => element.getAttribute('a b'),
      (element) => element.getAttribute(),
      (element) => [element.hasAttribute('two'), element.hasAttribute('no')],
      (element) => element.hasAttribute('a>'),
      (element) => element.getAttribute(1),
    ]),
  'attributes: writing': () =>
    Promise.all([
      onElement("<a  x = 1  Y='2' z>", 'a', (e) => e.setAttribute('n', 'w')),
      onElement("<a  x = 1  Y='2' z>", 'a', (e) => e.setAttribute('y', 'a"b&<>')),
      onElement("<a  x = 1  Y='2' z>", 'a', (e) => e.setAttribute('New', '')),
      onElement("<a  x = 1  Y='2' z>", 'a', (e) => e.removeAttribute('y')),
      onElement("<a  x = 1  Y='2' z>", 'a', (e) => e.removeAttribute('q')),
      onElement('<a x=1 x=2>', 'a', (e) => e.removeAttribute('x')),
      onElement('<a x=1 x=2>', 'a', (e) => e.setAttribute('x', 3)),
      onElement('<a x=1/>', 'a', (e) => e.setAttribute('y', 1)),
      onElement('<a x/>', 'a', (e) => e.setAttribute('y', 1)),
      onElement('<br/>', 'br', (e) => e.setAttribute('y', 1)),
      onElement('<br x/>', 'br', (e) => e.removeAttribute('x')),
      onElement('<A x>', 'a', (e) => e.removeAttribute('x')),
    ]),
  'attributes: names that are refused': () =>
    inElement('<a>', [
      (element) => element.setAttribute('', 'v'),
      (element) => element.setAttribute('a b', 'v'),
      (element) => element.setAttribute('a=b', 'v'),
      (element) => element.setAttribute('a>b', 'v'),
      (element) => element.setAttribute('a/b', 'v'),
      (element) => element.setAttribute('x'),
      (element) => element.setAttribute('a"b', 'v') === element,
      (element) => element.removeAttribute('a b') === element,
    ]),
  'attributes: an iterator while they change': () =>
    inElement('<a x=1 y=2>', [
      (element) => {
        const { attributes } = element;
        const first = attributes.next();
        element.setAttribute('z', '3');
        return [first, given(() => attributes.next())];
      },
      (element) => {
        const { attributes } = element;
        return [
          attributes[Symbol.iterator]() === attributes,
          Object.getPrototypeOf(Object.getPrototypeOf(attributes)) ===
            Object.getPrototypeOf(Object.getPrototypeOf([][Symbol.iterator]())),
          attributes.next(),
          attributes.next(),
          attributes.next(),
          attributes.next(),
          [...element.attributes],
        ];
      },
    ]),
  'tag names: reading and writing': () =>
    Promise.all([
      inElement('<A x>t</A>', [(element) => element.tagName]),
      onElement('<a x>t</a>', 'a', (e) => {
        e.tagName = 'Section';
      }),
      onElement('<a x=1 >t</A >', 'a', (e) => {
        e.tagName = 'b';
      }),
      onElement('<br x/>t', 'br', (e) => {
        e.tagName = 'hr';
      }),
      inElement('<a>', [
        (e) => {
          e.tagName = '';
        },
        (e) => {
          e.tagName = '1';
        },
        (e) => {
          e.tagName = 'a b';
        },
        (e) => {
          e.tagName = 'a>';
        },
      ]),
      onElement('<a>t</a>', 'a', (e) => {
        e.tagName = 'b';
        e.onEndTag((tag: Untyped) => tag.after(`[${tag.name}]`));
      }),
    ]),
  'content: each call': () =>
    Promise.all(
      ['before', 'after', 'prepend', 'append', 'replace', 'setInnerContent'].flatMap((name) => [
        onElement('<i><a>t<b>u</b></a></i>', 'a', (e) => e[name]('<&>"\'')),
        onElement('<i><a>t<b>u</b></a></i>', 'a', (e) => e[name]('<u>&amp;</u>', HTML)),
        onElement('<i><a>t<b>u</b></a></i>', 'a', (e) => e[name]('1')[name]('2')),
      ]),
    ),
  'content: of a void element': () =>
    Promise.all(
      ['before', 'after', 'prepend', 'append', 'replace', 'setInnerContent', 'remove'].map((name) =>
        onElement('<i><br>t</i>', 'br', (e) => e[name]('x')),
      ),
    ),
  'content: removing': () =>
    Promise.all([
      onElement('<i><a x>t<b>u</b></a>v</i>', 'a', (e) => e.remove()),
      onElement('<i><a x>t<b>u</b></a>v</i>', 'a', (e) => e.removeAndKeepContent()),
      onElement('<i><a x>t<b>u</b></a>v</i>', 'a', (e) => e.remove().before('1').after('2')),
      onElement('<i><a x>t</a>v</i>', 'a', (e) => e.prepend('1').append('2').remove()),
      onElement('<i><a x>t</a>v</i>', 'a', (e) => e.remove().prepend('1').append('2')),
      onElement('<i><a x>t</a>v</i>', 'a', (e) =>
        e.removeAndKeepContent().prepend('1').append('2'),
      ),
      onElement('<i><a>t</a>v</i>', 'a', (e) => e.replace('1').replace('2').after('3')),
      onElement('<i><a>t</a>v</i>', 'a', (e) => e.setInnerContent('1').append('2').prepend('3')),
      onElement('<i><a>t</a>v</i>', 'a', (e) => e.append('2').setInnerContent('1')),
      inElement('<a>', [(e) => e.removed, (e) => e.remove().removed, (e) => e.tagName]),
      inElement('<a>', [(e) => e.removeAndKeepContent().removed]),
      inElement('<a>', [(e) => e.replace('x').removed]),
    ]),
  'content: handlers inside of what is removed': async () => {
    const seen: unknown[] = [];
    const text = await rewritten('<a>t<b x>u</b><!--c--></a>v', (made) =>
      made
        .on('a', { element: (e: Untyped) => e.remove() })
        .on('b', { element: (e: Untyped) => void seen.push(e.removed, e.after('!').removed) })
        .onDocument({
          text: (chunk: Untyped) => void seen.push(chunk.text, chunk.removed),
          comments: (comment: Untyped) => void seen.push(comment.text, comment.removed),
        }),
    );
    return [seen.filter((item) => item !== ''), text];
  },
  'content: by several handlers': () =>
    rewritten('<a>t</a>', (made) =>
      made
        .on('a', { element: (e: Untyped) => e.append('1').after('2').prepend('3').before('4') })
        .on('*', { element: (e: Untyped) => e.append('5').after('6').prepend('7').before('8') }),
    ),
  'content: other values': () =>
    inElement('<a>', [
      (e) => e.append(1) === e,
      (e) => e.append(null) === e,
      (e) => e.append(undefined) === e,
      (e) => e.append() === e,
      (e) => e.append({ toString: () => '[object]' }) === e,
      (e) => e.append('x', null) === e,
      (e) => e.append('<x>', {}) === e,
      (e) => e.append('<x>', { html: 1 }) === e,
      (e) => e.append('<x>', 1) === e,
      (e) => e.after(true) === e,
    ]),
  'content: an element that closes itself': () =>
    Promise.all([
      onElement('<div/>t</div>', 'div', (e) => e.prepend('1').append('2')),
      onElement('<div x/>t</div>', 'div', (e) => e.setAttribute('y', '')),
      onElement('<svg><path/>t</svg>', 'path', (e) => e.prepend('1').append('2').after('3')),
      onElement('<svg><path x/>t</svg>', 'path', (e) => e.setAttribute('y', '')),
      onElement('<svg><g/>t</svg>', 'g', (e) => e.setInnerContent('x')),
    ]),
  'content: an element without its end tag': () =>
    Promise.all([
      onElement('<i><a>t</i>u', 'a', (e) => e.append('1').after('2')),
      onElement('<i><a>t</i>u', 'a', (e) => e.remove()),
      onElement('<a>t', 'a', (e) => e.append('1').after('2')),
      onElement('<a>t<b>u', 'a', (e) => e.remove()),
      onElement('<p>1<p>2</p>3', 'p', (e) => e.append('!')),
      onElement('<ul><li>1<li>2</ul>', 'li', (e) => e.append('!')),
      rewritten('<i><a>t</i>u', (made) =>
        made.on('i, a', { element: (e: Untyped) => e.append(e.tagName).after(e.tagName) }),
      ),
    ]),
  'content: streams': () =>
    Promise.all([
      onElement('<a>t</a>', 'a', (e) => e.append(streamOf('<b>', '&</b>'))),
      onElement('<a>t</a>', 'a', (e) => e.append(streamOf('<b>', '&</b>'), HTML)),
      onElement('<a>t</a>', 'a', (e) => e.replace(new Response('<p>'), HTML)),
      onElement('<a>t</a>', 'a', (e) => e.before(new Response(null)).after('x')),
      rewritten('<a>t</a>', (made) =>
        made.on('a', { text: (c: Untyped) => c.text && c.replace(streamOf('1', '2')) }),
      ),
    ]),
  'content: a stream that fails': () =>
    onElement('<a>t</a>', 'a', (e) =>
      e.append(
        new ReadableStream({
          pull() {
            throw new RangeError('no more');
          },
        }),
      ),
    ),
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
  for (const [question, ask] of Object.entries({ ...CALLS, ...PARSING })) {
    try {
      answers[question] = await within(Promise.resolve(ask()));
    } catch (error) {
      answers[question] = failure(error);
    }
  }
  return answers;
}

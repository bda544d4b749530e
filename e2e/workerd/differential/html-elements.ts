// Questions about `HTMLRewriter`: its calls, and what handlers do with elements and their content.

import { arriving, given, inElement, onElement, rewritten } from './html-answers.ts';
import { names, refusal, scope, type Untyped } from './surface-answers.ts';

type Questions = Readonly<Record<string, () => unknown>>;

const HTML = { html: true };
const pause = (ms = 1) => new Promise((resolve) => setTimeout(resolve, ms));
const streamOf = (...parts: readonly string[]) => arriving(parts).body;
const rewriter = () => new scope.HTMLRewriter();

export const ELEMENTS: Questions = {
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
};

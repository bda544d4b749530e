// The meaning of the tags so far for the bytes that follow: which elements hold only text, which lie in SVG or MathML, and
// where it cannot be known.
//
// HTML's tree of elements decides that. A stream is not made into a tree, so this follows the tags alone, as workerd
// does: where that could be wrong, and a script could hide, it refuses the document.

import { OPEN_ELEMENTS_MAX, OpenNames, tooManyOpen } from './open-names.ts';

export const HTML = 'http://www.w3.org/1999/xhtml';
const SVG = 'http://www.w3.org/2000/svg';
const MATH_ML = 'http://www.w3.org/1998/Math/MathML';

export type TagNamespace = typeof HTML | typeof SVG | typeof MATH_ML;

/** How the content of an element is read. */
export type TextKind = 'data' | 'rcdata' | 'rawtext' | 'script' | 'plaintext';

/** The parts of a start tag that matter here; names are in lower case. */
export interface OpeningTag {
  readonly tagName: string;
  readonly isSelfClosing: boolean;
  /** The value of the attribute in lower case. */
  attribute(name: string): string | undefined;
}

const TEXT_KINDS: ReadonlyMap<string, TextKind> = new Map([
  ['textarea', 'rcdata'],
  ['title', 'rcdata'],
  ['plaintext', 'plaintext'],
  ['script', 'script'],
  ['style', 'rawtext'],
  ['iframe', 'rawtext'],
  ['xmp', 'rawtext'],
  ['noembed', 'rawtext'],
  ['noframes', 'rawtext'],
  ['noscript', 'rawtext'],
]);

/** HTML elements that end SVG or MathML (HTML standard, "in foreign content"). */
const ENDS_FOREIGN: ReadonlySet<string> = new Set(
  (
    'b big blockquote body br center code dd div dl dt em embed h1 h2 h3 h4 h5 h6 head hr i img li listing menu meta ' +
    'nobr ol p pre ruby s small span strong strike sub sup table tt u ul var'
  ).split(' '),
);

/** Elements of HTML without content, as workerd has them. */
export const VOID_ELEMENTS: ReadonlySet<string> = new Set(
  'area base basefont bgsound br col embed hr img input keygen link meta param source track wbr'.split(
    ' ',
  ),
);

/** Elements of SVG and MathML whose content is HTML. */
const HOLDS_HTML: Readonly<Partial<Record<TagNamespace, ReadonlySet<string>>>> = {
  [SVG]: new Set(['desc', 'title', 'foreignobject']),
  [MATH_ML]: new Set(['mi', 'mo', 'mn', 'ms', 'mtext']),
};

/** Where a tag of text may be ignored by HTML's rules, which then read its content as HTML. */
type Doubt =
  | { readonly in: 'nothing' | 'select' | 'frameset' }
  | { readonly in: 'template in select'; readonly depth: number };

const NO_DOUBT: Doubt = { in: 'nothing' };

/** Elements of SVG or MathML, or of HTML inside of these. */
interface Scope {
  readonly namespace: TagNamespace;
  /** The element that holds the HTML; only its end tag, with nothing open inside of it, ends the scope. */
  readonly holder?: string;
  /** The elements of HTML that are open in it. */
  readonly inside: OpenNames;
}

export class TagContext {
  /** The document is not among them. */
  readonly #scopes: Scope[] = [];
  #doubt: Doubt = NO_DOUBT;

  get allowsCdata(): boolean {
    return this.#namespace !== HTML;
  }

  /** The namespace of the element, and how its content is read. @throws TypeError */
  startTag(tag: OpeningTag): { readonly namespace: TagNamespace; readonly textKind: TextKind } {
    const { tagName } = tag;
    this.#doubt = doubtAfter(this.#doubt, tagName);
    const around = this.#namespace;
    if (tagName === 'svg') this.#enter(SVG);
    else if (tagName === 'math') this.#enter(MATH_ML);
    else if (around === HTML) return this.#startHtml(tagName);
    else if (endsForeign(tag)) {
      this.#leaveForeign();
      return this.#startHtml(tagName);
    } else if (this.#holdsHtml(tag)) {
      this.#enter(HTML, tagName);
      return { namespace: around, textKind: 'data' };
    }
    return { namespace: this.#namespace, textKind: 'data' };
  }

  endTag(tagName: string): void {
    const doubt = this.#doubt;
    if (doubt.in === 'select' && tagName === 'select') this.#doubt = NO_DOUBT;
    if (doubt.in === 'template in select' && tagName === 'template') {
      const depth = doubt.depth - 1;
      this.#doubt = depth === 0 ? { in: 'select' } : { ...doubt, depth };
    }
    const scope = this.#scopes.at(-1);
    if (scope === undefined) return;
    if (scope.namespace === HTML) {
      if (scope.inside.count === 0 && tagName === scope.holder) this.#scopes.pop();
      else scope.inside.close(tagName);
    } else if (tagName === (scope.namespace === SVG ? 'svg' : 'math')) this.#scopes.pop();
    else if (tagName === 'p' || tagName === 'br') this.#leaveForeign();
  }

  get #namespace(): TagNamespace {
    return this.#scopes.at(-1)?.namespace ?? HTML;
  }

  #startHtml(tagName: string): { readonly namespace: TagNamespace; readonly textKind: TextKind } {
    if (!VOID_ELEMENTS.has(tagName)) this.#scopes.at(-1)?.inside.open(tagName);
    return { namespace: HTML, textKind: TEXT_KINDS.get(tagName) ?? 'data' };
  }

  /** @throws TypeError */
  #enter(namespace: TagNamespace, holder?: string): void {
    if (this.#scopes.length === OPEN_ELEMENTS_MAX) throw tooManyOpen();
    this.#scopes.push({
      namespace,
      inside: new OpenNames(),
      ...(holder !== undefined && { holder }),
    });
  }

  #leaveForeign(): void {
    while (this.#namespace !== HTML) this.#scopes.pop();
  }

  #holdsHtml({ tagName, isSelfClosing, attribute }: OpeningTag): boolean {
    if (isSelfClosing) return false;
    if (HOLDS_HTML[this.#namespace]!.has(tagName)) return true;
    if (this.#namespace !== MATH_ML || tagName !== 'annotation-xml') return false;
    return ['text/html', 'application/xhtml+xml'].includes(attribute('encoding') ?? '');
  }
}

function endsForeign({ tagName, attribute }: OpeningTag): boolean {
  if (ENDS_FOREIGN.has(tagName)) return true;
  return (
    tagName === 'font' && ['color', 'size', 'face'].some((name) => attribute(name) !== undefined)
  );
}

/** @throws TypeError */
function doubtAfter(doubt: Doubt, tagName: string): Doubt {
  switch (doubt.in) {
    case 'nothing':
      return tagName === 'select' || tagName === 'frameset' ? { in: tagName } : doubt;
    case 'select':
      if (['select', 'textarea', 'input', 'keygen'].includes(tagName)) return NO_DOUBT;
      if (tagName === 'template') return { in: 'template in select', depth: 1 };
      return allow(doubt, tagName, 'script');
    case 'template in select':
      if (tagName === 'template') return { ...doubt, depth: doubt.depth + 1 };
      return allow(doubt, tagName);
    case 'frameset':
      return allow(doubt, tagName, 'noframes');
  }
}

/** @throws TypeError */
function allow(doubt: Doubt, tagName: string, allowed?: string): Doubt {
  if (tagName === allowed || !TEXT_KINDS.has(tagName)) return doubt;
  throw new TypeError(
    `Parser error: <${tagName}> inside of <${doubt.in === 'frameset' ? 'frameset' : 'select'}>: a browser may ignore ` +
      'the tag and read its content as HTML, which a stream cannot tell. Move the element out of it.',
  );
}

// Decides from the tags so far how the bytes after them are read: whether an element holds only text, and whether it is
// in SVG or MathML.
//
// A browser decides this with the tree of elements. A stream has no tree, so this follows the tags alone, as workerd
// does. Where the result could differ from a browser's, so that a script could stay hidden, it refuses the document.

import { OPEN_ELEMENTS_MAX, OpenNames, tooManyOpen } from './open-names.ts';

export const HTML = 'http://www.w3.org/1999/xhtml';
const SVG = 'http://www.w3.org/2000/svg';
const MATH_ML = 'http://www.w3.org/1998/Math/MathML';

export type TagNamespace = typeof HTML | typeof SVG | typeof MATH_ML;

/** The ways in which the content of an element is read, by the states of the HTML standard's tokenizer. */
export type TextKind = 'data' | 'rcdata' | 'rawtext' | 'script' | 'plaintext';

/** The parts of a start tag that decide this. Names are in lower case. */
export interface OpeningTag {
  readonly tagName: string;
  readonly isSelfClosing: boolean;
  /** Returns the value of an attribute, in lower case. */
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

/** The elements of HTML whose start tag ends SVG or MathML (HTML standard, "in foreign content"). */
const ENDS_FOREIGN: ReadonlySet<string> = new Set(
  (
    'b big blockquote body br center code dd div dl dt em embed h1 h2 h3 h4 h5 h6 head hr i img li listing menu meta ' +
    'nobr ol p pre ruby s small span strong strike sub sup table tt u ul var'
  ).split(' '),
);

/** The elements of HTML that workerd treats as without content. */
export const VOID_ELEMENTS: ReadonlySet<string> = new Set(
  'area base basefont bgsound br col embed hr img input keygen link meta param source track wbr'.split(
    ' ',
  ),
);

/** The elements of SVG and MathML whose content is HTML. */
const HTML_INTEGRATION_POINTS: Readonly<Partial<Record<TagNamespace, ReadonlySet<string>>>> = {
  [SVG]: new Set(['desc', 'title', 'foreignobject']),
  [MATH_ML]: new Set(['mi', 'mo', 'mn', 'ms', 'mtext']),
};

/** The open element inside of which a browser may ignore a tag such as `<style>`, and read its content as HTML. */
type Ambiguity =
  | { readonly in: 'nothing' | 'select' | 'frameset' }
  | { readonly in: 'template in select'; readonly depth: number };

const NOT_AMBIGUOUS: Ambiguity = { in: 'nothing' };

/** An element of SVG or MathML with its content, or an element of those whose content is HTML. */
interface Scope {
  readonly namespace: TagNamespace;
  /** The element whose content is HTML. Its end tag ends the scope if no element inside of it is open. */
  readonly holder?: string;
  /** The elements of HTML that are open in this scope. */
  readonly openInside: OpenNames;
}

export class TagContext {
  /** The open scopes, the innermost last. It is empty while the document itself is read. */
  readonly #scopes: Scope[] = [];
  #ambiguity: Ambiguity = NOT_AMBIGUOUS;

  get allowsCdata(): boolean {
    return this.#namespace !== HTML;
  }

  /**
   * Returns the namespace of the element, and how its content is read.
   *
   * @throws TypeError if a browser could read it otherwise
   */
  startTag(tag: OpeningTag): { readonly namespace: TagNamespace; readonly textKind: TextKind } {
    const { tagName } = tag;
    this.#ambiguity = ambiguityAfter(this.#ambiguity, tagName);
    const outerNamespace = this.#namespace;
    if (tagName === 'svg') this.#openScope(SVG);
    else if (tagName === 'math') this.#openScope(MATH_ML);
    else if (outerNamespace === HTML) return this.#startHtml(tagName);
    else if (endsForeign(tag)) {
      this.#closeForeignScopes();
      return this.#startHtml(tagName);
    } else if (this.#hasHtmlContent(tag)) {
      this.#openScope(HTML, tagName);
      return { namespace: outerNamespace, textKind: 'data' };
    }
    return { namespace: this.#namespace, textKind: 'data' };
  }

  endTag(tagName: string): void {
    const ambiguity = this.#ambiguity;
    if (ambiguity.in === 'select' && tagName === 'select') this.#ambiguity = NOT_AMBIGUOUS;
    if (ambiguity.in === 'template in select' && tagName === 'template') {
      const depth = ambiguity.depth - 1;
      this.#ambiguity = depth === 0 ? { in: 'select' } : { ...ambiguity, depth };
    }
    const scope = this.#scopes.at(-1);
    if (scope === undefined) return;
    if (scope.namespace === HTML) {
      if (scope.openInside.count === 0 && tagName === scope.holder) this.#scopes.pop();
      else scope.openInside.close(tagName);
    } else if (tagName === (scope.namespace === SVG ? 'svg' : 'math')) this.#scopes.pop();
    else if (tagName === 'p' || tagName === 'br') this.#closeForeignScopes();
  }

  get #namespace(): TagNamespace {
    return this.#scopes.at(-1)?.namespace ?? HTML;
  }

  #startHtml(tagName: string): { readonly namespace: TagNamespace; readonly textKind: TextKind } {
    if (!VOID_ELEMENTS.has(tagName)) this.#scopes.at(-1)?.openInside.open(tagName);
    return { namespace: HTML, textKind: TEXT_KINDS.get(tagName) ?? 'data' };
  }

  /** @throws TypeError if too many scopes are open */
  #openScope(namespace: TagNamespace, holder?: string): void {
    if (this.#scopes.length === OPEN_ELEMENTS_MAX) throw tooManyOpen();
    this.#scopes.push({
      namespace,
      openInside: new OpenNames(),
      ...(holder !== undefined && { holder }),
    });
  }

  #closeForeignScopes(): void {
    while (this.#namespace !== HTML) this.#scopes.pop();
  }

  #hasHtmlContent({ tagName, isSelfClosing, attribute }: OpeningTag): boolean {
    if (isSelfClosing) return false;
    if (HTML_INTEGRATION_POINTS[this.#namespace]!.has(tagName)) return true;
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

/** Returns the ambiguity after a start tag. @throws TypeError if the tag may be ignored by a browser */
function ambiguityAfter(ambiguity: Ambiguity, tagName: string): Ambiguity {
  switch (ambiguity.in) {
    case 'nothing':
      return tagName === 'select' || tagName === 'frameset' ? { in: tagName } : ambiguity;
    case 'select':
      if (['select', 'textarea', 'input', 'keygen'].includes(tagName)) return NOT_AMBIGUOUS;
      if (tagName === 'template') return { in: 'template in select', depth: 1 };
      return checkNotIgnored(ambiguity, tagName, 'script');
    case 'template in select':
      if (tagName === 'template') return { ...ambiguity, depth: ambiguity.depth + 1 };
      return checkNotIgnored(ambiguity, tagName);
    case 'frameset':
      return checkNotIgnored(ambiguity, tagName, 'noframes');
  }
}

/**
 * Returns the ambiguity unchanged if the tag cannot be ignored, or is `allowed`.
 *
 * @throws TypeError if it may be ignored
 */
function checkNotIgnored(ambiguity: Ambiguity, tagName: string, allowed?: string): Ambiguity {
  if (tagName === allowed || !TEXT_KINDS.has(tagName)) return ambiguity;
  throw new TypeError(
    `Parser error: <${tagName}> inside of <${ambiguity.in === 'frameset' ? 'frameset' : 'select'}>: a browser may ignore ` +
      'the tag and read its content as HTML, which a stream cannot tell. Move the element out of it.',
  );
}

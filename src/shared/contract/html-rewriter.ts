// `HTMLRewriter` as code uses it: the types of Cloudflare's documentation.

/** How content is taken: as text, unless `html` is true. */
export interface ContentOptions {
  readonly html?: boolean;
}

/** A stream, or the body of a response, is read when its place is written. */
export type HtmlContent = string | ReadableStream | Response;

/** A start tag and, by `after`, `append` and their like, the content and the end tag that follow. */
export interface Element {
  /** In lower case. */
  tagName: string;
  readonly namespaceURI: string;
  readonly removed: boolean;
  /** A new iterator; it ends when an attribute is changed. Names are in lower case. */
  readonly attributes: IterableIterator<[name: string, value: string]>;
  getAttribute(name: string): string | null;
  hasAttribute(name: string): boolean;
  setAttribute(name: string, value: string): Element;
  removeAttribute(name: string): Element;
  before(content: HtmlContent, options?: ContentOptions): Element;
  after(content: HtmlContent, options?: ContentOptions): Element;
  /** Without effect, as `append` and `setInnerContent`, if the element has no content, as `<br>`. */
  prepend(content: HtmlContent, options?: ContentOptions): Element;
  append(content: HtmlContent, options?: ContentOptions): Element;
  replace(content: HtmlContent, options?: ContentOptions): Element;
  setInnerContent(content: HtmlContent, options?: ContentOptions): Element;
  remove(): Element;
  removeAndKeepContent(): Element;
  /** Sets the handler that is called if the end tag comes. @throws TypeError if the element has no content */
  onEndTag(handler: (tag: EndTag) => void | Promise<void>): void;
}

/** The tag that ends an element, or one around it if its own is missing. */
export interface EndTag {
  name: string;
  before(content: HtmlContent, options?: ContentOptions): EndTag;
  after(content: HtmlContent, options?: ContentOptions): EndTag;
  remove(): EndTag;
}

export interface Comment {
  text: string;
  readonly removed: boolean;
  before(content: string, options?: ContentOptions): Comment;
  after(content: string, options?: ContentOptions): Comment;
  replace(content: string, options?: ContentOptions): Comment;
  remove(): Comment;
}

/** A chunk of a text. */
export interface Text {
  /** As it is written in the document: `&amp;` is not decoded. */
  readonly text: string;
  /** True for the chunk that ends the text; it may be empty. */
  readonly lastInTextNode: boolean;
  readonly removed: boolean;
  before(content: HtmlContent, options?: ContentOptions): Text;
  after(content: HtmlContent, options?: ContentOptions): Text;
  replace(content: HtmlContent, options?: ContentOptions): Text;
  remove(): Text;
}

export interface Doctype {
  readonly name: string | null;
  readonly publicId: string | null;
  readonly systemId: string | null;
}

export interface DocumentEnd {
  append(content: string, options?: ContentOptions): DocumentEnd;
}

/** Called for the elements that a selector matches, and for comments and text inside of them. */
export interface ElementContentHandlers {
  element?(element: Element): void | Promise<void>;
  comments?(comment: Comment): void | Promise<void>;
  text?(text: Text): void | Promise<void>;
}

/** Called for all of a document. */
export interface DocumentContentHandlers {
  doctype?(doctype: Doctype): void | Promise<void>;
  comments?(comment: Comment): void | Promise<void>;
  text?(text: Text): void | Promise<void>;
  end?(end: DocumentEnd): void | Promise<void>;
}

/** Changes HTML while it streams. A token that a handler gets is valid until the handler's promise settles. */
export interface HTMLRewriter {
  /** @throws TypeError if the selector is invalid, or has parts that workerd does not support */
  on(selector: string, handlers: ElementContentHandlers): HTMLRewriter;
  onDocument(handlers: DocumentContentHandlers): HTMLRewriter;
  /** The response with the changed body, which is read as the result is. @throws TypeError */
  transform(response: Response): Response;
}

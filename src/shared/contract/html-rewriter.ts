// Declares the types of `HTMLRewriter` that code uses, as Cloudflare's documentation has them.

/** Says how inserted content is interpreted: as text, unless `html` is true. */
export interface ContentOptions {
  readonly html?: boolean;
}

/** Content to insert. A stream, or the body of a response, is read when the output reaches its place. */
export type HtmlContent = string | ReadableStream | Response;

/** A start tag and, by `after`, `append` and their like, the content and the end tag that follow. */
export interface Element {
  /** The name of the tag in lower case. */
  tagName: string;
  readonly namespaceURI: string;
  readonly removed: boolean;
  /** A new iterator over the attributes, which ends when an attribute is changed. Names are in lower case. */
  readonly attributes: IterableIterator<[name: string, value: string]>;
  getAttribute(name: string): string | null;
  hasAttribute(name: string): boolean;
  setAttribute(name: string, value: string): Element;
  removeAttribute(name: string): Element;
  before(content: HtmlContent, options?: ContentOptions): Element;
  after(content: HtmlContent, options?: ContentOptions): Element;
  /**
   * Inserts content after the start tag. Like `append` and `setInnerContent`, it has no effect on elements like `<br>`.
   */
  prepend(content: HtmlContent, options?: ContentOptions): Element;
  append(content: HtmlContent, options?: ContentOptions): Element;
  replace(content: HtmlContent, options?: ContentOptions): Element;
  setInnerContent(content: HtmlContent, options?: ContentOptions): Element;
  remove(): Element;
  removeAndKeepContent(): Element;
  /**
   * Sets the handler of the end tag, which is called if the tag comes. @throws TypeError if the element has no content
   */
  onEndTag(handler: (tag: EndTag) => void | Promise<void>): void;
}

/** The tag that ends an element, or the end tag of an element around it if its own end tag is missing. */
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
  /** The text as it is written in the document, where `&amp;` is not decoded. */
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

/** Handlers that are called for the elements that a selector matches, and for comments and text inside of them. */
export interface ElementContentHandlers {
  element?(element: Element): void | Promise<void>;
  comments?(comment: Comment): void | Promise<void>;
  text?(text: Text): void | Promise<void>;
}

/** Handlers that are called for the whole document. */
export interface DocumentContentHandlers {
  doctype?(doctype: Doctype): void | Promise<void>;
  comments?(comment: Comment): void | Promise<void>;
  text?(text: Text): void | Promise<void>;
  end?(end: DocumentEnd): void | Promise<void>;
}

/** Changes HTML while it streams. A token that a handler gets is valid until the handler's promise settles. */
export interface HTMLRewriter {
  /** Adds handlers for a selector. @throws TypeError if it is invalid, or has parts that workerd does not support */
  on(selector: string, handlers: ElementContentHandlers): HTMLRewriter;
  onDocument(handlers: DocumentContentHandlers): HTMLRewriter;
  /** Returns the response with the changed body. Reading the result reads the body. @throws TypeError */
  transform(response: Response): Response;
}

// `HTMLRewriter` of code in the playground, as `ctx-storage/worker/html-rewriter` has it, without its sources.

/** `html`: content is HTML, not text. */
interface ContentOptions {
  html?: boolean;
}

type HtmlContent = string | ReadableStream | Response;

interface HtmlElement {
  tagName: string;
  readonly namespaceURI: string;
  readonly removed: boolean;
  readonly attributes: IterableIterator<[name: string, value: string]>;
  getAttribute(name: string): string | null;
  hasAttribute(name: string): boolean;
  setAttribute(name: string, value: string): this;
  removeAttribute(name: string): this;
  before(content: HtmlContent, options?: ContentOptions): this;
  after(content: HtmlContent, options?: ContentOptions): this;
  prepend(content: HtmlContent, options?: ContentOptions): this;
  append(content: HtmlContent, options?: ContentOptions): this;
  replace(content: HtmlContent, options?: ContentOptions): this;
  setInnerContent(content: HtmlContent, options?: ContentOptions): this;
  remove(): this;
  removeAndKeepContent(): this;
  /** The last handler that is set is called, if the end tag comes; a void element has none. */
  onEndTag(handler: (tag: HtmlEndTag) => void | Promise<void>): void;
}

interface HtmlEndTag {
  name: string;
  before(content: HtmlContent, options?: ContentOptions): this;
  after(content: HtmlContent, options?: ContentOptions): this;
  remove(): this;
}

interface HtmlComment {
  text: string;
  readonly removed: boolean;
  before(content: string, options?: ContentOptions): this;
  after(content: string, options?: ContentOptions): this;
  replace(content: string, options?: ContentOptions): this;
  remove(): this;
}

interface HtmlText {
  readonly text: string;
  /** True for the chunk that ends the text; it may be empty. */
  readonly lastInTextNode: boolean;
  readonly removed: boolean;
  before(content: HtmlContent, options?: ContentOptions): this;
  after(content: HtmlContent, options?: ContentOptions): this;
  replace(content: HtmlContent, options?: ContentOptions): this;
  remove(): this;
}

/** Changes HTML while it streams. */
declare class HTMLRewriter {
  on(
    selector: string,
    handlers: {
      element?(element: HtmlElement): void | Promise<void>;
      comments?(comment: HtmlComment): void | Promise<void>;
      text?(text: HtmlText): void | Promise<void>;
    },
  ): this;
  onDocument(handlers: {
    doctype?(doctype: {
      readonly name: string | null;
      readonly publicId: string | null;
      readonly systemId: string | null;
    }): void | Promise<void>;
    comments?(comment: HtmlComment): void | Promise<void>;
    text?(text: HtmlText): void | Promise<void>;
    end?(end: { append(content: string, options?: ContentOptions): unknown }): void | Promise<void>;
  }): this;
  transform(response: Response): Response;
}

// The content that handlers put around a token, and in its place.

/** Given by a handler: text, or a stream that is read when its place is written. */
export type Content = { readonly isHtml: boolean } & (
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'stream'; readonly stream: ReadableStream }
);

export class Mutations {
  before: Content[] = [];
  replacement: Content[] = [];
  after: Content[] = [];
  isRemoved = false;

  replaceBy(content: readonly Content[]): void {
    this.isRemoved = true;
    this.replacement = [...content];
  }
}

/** A call of a handler, as messages name it. */
interface Call {
  readonly method: string;
  readonly type: string;
}

/** A string, which the arguments have at the position, from 1. @throws TypeError */
export function stringOf(given: readonly unknown[], { method, type }: Call, position = 1): string {
  if (given.length < position) {
    throw new TypeError(
      `Failed to execute '${method}' on '${type}': parameter ${position} is not of type 'string'.`,
    );
  }
  return String(given[position - 1]);
}

/** The content and options that are given; none for a response without a body. @throws TypeError */
export function givenContent(given: readonly unknown[], call: Call): Content[] {
  const [content, options] = given;
  const isHtml = isHtmlIn(options, call);
  const stream = content instanceof Response ? content.body : content;
  if (stream === null && content !== null) return [];
  if (stream instanceof ReadableStream) return [{ kind: 'stream', stream, isHtml }];
  if (given.length === 0) throw wrongContent(call);
  return [{ kind: 'text', text: String(content), isHtml }];
}

/** For tokens that take no streams. @throws TypeError */
export function givenText(given: readonly unknown[], call: Call): Content[] {
  const [content] = given;
  if (content instanceof ReadableStream || content instanceof Response) {
    throw new TypeError(
      'Replacing content in HTML comments using a ReadableStream or Response object is not implemented. You must ' +
        'provide a string.',
    );
  }
  return givenContent(given, call);
}

function isHtmlIn(options: unknown, { method, type }: Call): boolean {
  if (options === undefined || options === null) return false;
  if (typeof options !== 'object') {
    throw new TypeError(
      `Failed to execute '${method}' on '${type}': parameter 2 is not of type 'ContentOptions'.`,
    );
  }
  return Boolean((options as { readonly html?: unknown }).html);
}

function wrongContent({ method, type }: Call): TypeError {
  return new TypeError(
    `Failed to execute '${method}' on '${type}': parameter 1 is not of type 'string or ReadableStream or Response'.`,
  );
}

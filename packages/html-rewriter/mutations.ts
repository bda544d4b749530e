// The content that handlers put before, after and in place of a token, and the arguments with which they give it.

/** Content from a handler: text, or a stream that is read when its place in the document is written. */
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

/** The method that a handler calls, and its class, as error messages name them. */
interface MethodCall {
  readonly method: string;
  readonly type: string;
}

/** Returns the argument at a position, counted from 1, as text. @throws TypeError if it is missing */
export function stringOf(
  given: readonly unknown[],
  { method, type }: MethodCall,
  position = 1,
): string {
  if (given.length < position) {
    throw new TypeError(
      `Failed to execute '${method}' on '${type}': parameter ${position} is not of type 'string'.`,
    );
  }
  return String(given[position - 1]);
}

/**
 * Returns the content of a call, or none for a response without a body.
 *
 * @throws TypeError if an argument is not valid
 */
export function givenContent(given: readonly unknown[], call: MethodCall): Content[] {
  const [content, options] = given;
  const isHtml = readHtmlOption(options, call);
  const stream = content instanceof Response ? content.body : content;
  if (stream === null && content !== null) return [];
  if (stream instanceof ReadableStream) return [{ kind: 'stream', stream, isHtml }];
  if (given.length === 0) throw wrongContent(call);
  return [{ kind: 'text', text: String(content), isHtml }];
}

/** Returns the content of a call of a token that takes only text. @throws TypeError if the content is a stream */
export function givenText(given: readonly unknown[], call: MethodCall): Content[] {
  const [content] = given;
  if (content instanceof ReadableStream || content instanceof Response) {
    throw new TypeError(
      'Replacing content in HTML comments using a ReadableStream or Response object is not implemented. You must ' +
        'provide a string.',
    );
  }
  return givenContent(given, call);
}

function readHtmlOption(options: unknown, { method, type }: MethodCall): boolean {
  if (options === undefined || options === null) return false;
  if (typeof options !== 'object') {
    throw new TypeError(
      `Failed to execute '${method}' on '${type}': parameter 2 is not of type 'ContentOptions'.`,
    );
  }
  return Boolean((options as { readonly html?: unknown }).html);
}

function wrongContent({ method, type }: MethodCall): TypeError {
  return new TypeError(
    `Failed to execute '${method}' on '${type}': parameter 1 is not of type 'string or ReadableStream or Response'.`,
  );
}

// The parameters of a list: its filters, its order and its list page.
//
// Invariant: a list uses every parameter of its request, or refuses the request. If a list ignored a filter, its
// answer would contain items that the client did not ask for, and a client may delete the items it lists.

import { apiError, type Call } from './call.ts';

/** The parameters that a list accepts, besides `page` and `per_page`. */
export interface ListParameters {
  /** Parameters with a text, which cannot be empty. */
  readonly texts?: readonly string[];
  /** Parameters whose presence counts; their text is ignored. */
  readonly flags?: readonly string[];
  /** Parameters with one of several words. */
  readonly words?: Readonly<Record<string, readonly string[]>>;
  /** Parameters with some of several words, separated by commas or repeated. */
  readonly wordLists?: Readonly<Record<string, readonly string[]>>;
}

const PAGE_PARAMETERS = ['page', 'per_page'];

/**
 * The parameters by name. `name[contains]` is an older spelling of `name.contains`.
 *
 * @throws ApiError 400 that names the parameter, and the parameters or words that the list understands
 */
export function listQuery(
  { query, repeated = [] }: Pick<Call, 'query' | 'repeated'>,
  understood: ListParameters = {},
): Call['query'] {
  const { texts = [], flags = [] } = understood;
  const words = new Map(Object.entries(understood.words ?? {}));
  const wordLists = new Map(Object.entries(understood.wordLists ?? {}));
  const known = [...texts, ...flags, ...words.keys(), ...wordLists.keys(), ...PAGE_PARAMETERS];
  const read: Record<string, string> = {};
  for (const [spelled, value] of Object.entries(query)) {
    const name = spelled.replace(/^(\w+)\[(\w+)\]$/, '$1.$2');
    if (!known.includes(name)) {
      throw invalid(`The list has no parameter "${name}"; it has ${known.join(', ')}.`);
    }
    if (Object.hasOwn(read, name)) throw invalid(`${name} is sent in two spellings; send it once.`);
    if (repeated.includes(spelled) && !wordLists.has(name)) {
      throw invalid(`${spelled} is sent several times; send it once.`);
    }
    if (texts.includes(name) && value === '') {
      throw invalid(`${name} is empty; leave it out to list all items.`);
    }
    const word = words.get(name);
    if (word && !word.includes(value)) throw unknownWord(name, value, word);
    const list = wordLists.get(name);
    if (list && !value.split(',').every((one) => list.includes(one))) {
      throw unknownWord(name, value, list);
    }
    read[name] = value;
  }
  return read;
}

function unknownWord(name: string, value: string, words: readonly string[]): Error {
  return invalid(`${name} is "${value}"; it must be ${words.join(' or ')}.`);
}

function invalid(message: string): Error {
  return apiError('FIELD_INVALID', message);
}

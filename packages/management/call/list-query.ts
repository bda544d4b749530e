// The query parameters of a list: its filters, its order and its page.
//
// Invariant: a list uses every parameter of its request, or refuses the request. If a list ignored a filter, its answer
// would contain items that the client did not ask for, and a client may delete the items it lists.

import { apiError, type Call } from './call.ts';

/** The query parameters that a list accepts, besides `page` and `per_page`. */
export interface ListParameters {
  /** Parameters whose value is any text except the empty one. */
  readonly texts?: readonly string[];
  /** Parameters that need no value, because only their presence counts. */
  readonly flags?: readonly string[];
  /** Parameters whose value is one of several words. */
  readonly words?: Readonly<Record<string, readonly string[]>>;
  /** Parameters whose value is a list of words, separated by commas or by repeating the parameter. */
  readonly wordLists?: Readonly<Record<string, readonly string[]>>;
}

const PAGE_PARAMETERS = ['page', 'per_page'];

/**
 * Returns the values of the parameters by name. `name[contains]` is an older spelling of `name.contains`.
 *
 * @throws ApiError 400 that names the wrong parameter, and the parameters or words that the list understands
 */
export function listQuery(
  { query, repeated = [] }: Pick<Call, 'query' | 'repeated'>,
  accepted: ListParameters = {},
): Call['query'] {
  const { texts = [], flags = [] } = accepted;
  const words = new Map(Object.entries(accepted.words ?? {}));
  const wordLists = new Map(Object.entries(accepted.wordLists ?? {}));
  const known = [...texts, ...flags, ...words.keys(), ...wordLists.keys(), ...PAGE_PARAMETERS];
  const values: Record<string, string> = {};
  for (const [sentName, value] of Object.entries(query)) {
    const name = sentName.replace(/^(\w+)\[(\w+)\]$/, '$1.$2');
    if (!known.includes(name)) {
      throw invalidField(`The list has no parameter "${name}"; it has ${known.join(', ')}.`);
    }
    if (Object.hasOwn(values, name))
      throw invalidField(`${name} is sent in two spellings; send it once.`);
    if (repeated.includes(sentName) && !wordLists.has(name)) {
      throw invalidField(`${sentName} is sent several times; send it once.`);
    }
    if (texts.includes(name) && value === '') {
      throw invalidField(`${name} is empty; leave it out to list all items.`);
    }
    const word = words.get(name);
    if (word && !word.includes(value)) throw unknownWord(name, value, word);
    const list = wordLists.get(name);
    if (list && !value.split(',').every((one) => list.includes(one))) {
      throw unknownWord(name, value, list);
    }
    values[name] = value;
  }
  return values;
}

function unknownWord(name: string, value: string, words: readonly string[]): Error {
  return invalidField(`${name} is "${value}"; it must be ${words.join(' or ')}.`);
}

function invalidField(message: string): Error {
  return apiError('FIELD_INVALID', message);
}

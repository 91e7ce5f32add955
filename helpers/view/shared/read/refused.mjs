/** What a reader refuses, in the same words as Python's error. */
export class Refused extends Error {}

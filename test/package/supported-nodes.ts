/** Major versions of Node.js on which the package is tested, lowest first. */
export const supportedNodes = [20, 22, 24] as const;

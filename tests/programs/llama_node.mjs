// SPDX-License-Identifier: Apache-2.0
// llama.cpp in Node: llama_node.mjs FOLDER [kill]; prints a hash of 24 tokens, or dies after eight.
import {createHash} from 'node:crypto';
import {pathToFileURL} from 'node:url';

const folder = process.argv[2];
const {getLlama, LlamaCompletion} =
    await import(pathToFileURL(folder + '/node_modules/node-llama-cpp/dist/index.js'));
const llama = await getLlama({gpu: false, build: 'never', logLevel: 'error', skipDownload: true});
const model = await llama.loadModel({modelPath: folder + '/model.gguf'});
const context = await model.createContext({contextSize: 256, threads: 1});
const completion = new LlamaCompletion({contextSequence: context.getSequence()});
let tokens = 0;
const text = await completion.generateCompletion('a b a b a', {
    maxTokens: 24,
    seed: 7,
    temperature: 0,
    onToken(chunk) {
        tokens += chunk.length;
        if (process.argv[3] && tokens >= 8)
            process.kill(process.pid, 'SIGKILL');
    },
});
console.log(tokens, createHash('sha256').update(text).digest('hex'));
await llama.dispose();

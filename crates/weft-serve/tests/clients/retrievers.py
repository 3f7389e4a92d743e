"""Retrievers and a reranker: LangChain's and LlamaIndex's with OpenAI's embeddings, and Cohere's client.

The embedding model has random weights too, so a text is only sure to be nearest to itself.
"""

import cohere
import numpy
from harness import KEY, TIMEOUT, URL, case, main, refused, same
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_openai import OpenAIEmbeddings
from llama_index.core import VectorStoreIndex
from llama_index.core.schema import TextNode
from llama_index.embeddings.openai import OpenAIEmbedding

TEXTS = ["Paris is the capital of France.", "Bread is made of flour.", "A whale is no fish.", "It rains."]


def chain(**more):
    """LangChain's embeddings."""
    # Where it checks lengths, it downloads OpenAI's vocabulary, and sends its token ids.
    more |= {"timeout": TIMEOUT, "max_retries": 0, "check_embedding_ctx_length": False}
    return OpenAIEmbeddings(model="embed", base_url=f"{URL}/v1", api_key=KEY, **more)


def index_of(**more):
    """LlamaIndex's embeddings."""
    return OpenAIEmbedding(model_name="embed", api_base=f"{URL}/v1", api_key=KEY, timeout=TIMEOUT, max_retries=0, **more)


@case
def langchain_finds_each_text():
    retriever = InMemoryVectorStore.from_texts(TEXTS, chain()).as_retriever(search_kwargs={"k": 2})
    for text in TEXTS:
        found = [document.page_content for document in retriever.invoke(text)]
        same((found[0], len(found)), (text, 2))
    same(len(chain(dimensions=16).embed_query("a")), 16)


@case
def llama_index_finds_each_text():
    index = VectorStoreIndex(nodes=[TextNode(text=text) for text in TEXTS], embed_model=index_of(embed_batch_size=3))
    retriever = index.as_retriever(similarity_top_k=2)
    for text in TEXTS:
        found = retriever.retrieve(text)
        same((found[0].node.get_content(), len(found)), (text, 2))
        assert found[0].score > 0.999 > found[1].score, found


@case
def both_find_the_same_vectors():
    a, b = numpy.array(chain().embed_documents(TEXTS)), numpy.array(index_of().get_text_embedding_batch(TEXTS))
    assert numpy.abs(a - b).max() < 1e-6, numpy.abs(a - b).max()


@case
def cohere_ranks():
    client = cohere.ClientV2(KEY, base_url=URL, timeout=TIMEOUT)
    ask = lambda **more: client.rerank(model="rank", query="What is the capital of France?", documents=TEXTS, **more)
    all_ = ask().results
    same(sorted(one.index for one in all_), [0, 1, 2, 3])
    scores = [one.relevance_score for one in all_]
    assert scores == sorted(scores, reverse=True) and all(0 <= score <= 1 for score in scores), scores
    best = ask(top_n=2).results
    same([(one.index, one.relevance_score) for one in best], [(one.index, one.relevance_score) for one in all_[:2]])
    refused(cohere.BadRequestError, lambda: client.rerank(model="embed", query="a", documents=TEXTS), status_code=400)


main()
